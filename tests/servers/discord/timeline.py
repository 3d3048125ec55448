"""The server's clock and its ids."""

from collections.abc import Callable

from tests.servers.changes import Changes
from tests.servers.discord.values import EPOCH


class Timeline(Changes):
    """The clock is in Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._ahead = 0.0
        self._last_moment = 0

    def now(self) -> float:
        return self._clock() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves the server's clock forward: tokens, nonces and sessions age."""
        self._ahead += seconds
        self.changed()

    def snowflake(self) -> int:
        """A new id, greater than all before it even if the clock goes back; it contains its time."""
        self._serial += 1
        self._last_moment = max(self._last_moment, int((self.now() - EPOCH) * 1000))
        return (self._last_moment << 22) | (self._serial & 0x3FFFFF)
