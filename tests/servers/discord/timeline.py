"""The server's clock, the ids that it gives, and those who wait for something to change."""

import asyncio
from collections.abc import Callable

from tests.servers.discord.values import EPOCH


class Timeline:
    """Every change passes `changed`, which wakes those who wait. The clock is in Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.seq = 0
        self._clock = clock
        self._ahead = 0.0
        self._serial = 0
        self._last_moment = 0
        self._waiting: list[asyncio.Future[None]] = []

    def changed(self) -> None:
        self.seq += 1
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait_for_change(self, seconds: float) -> bool:
        """False when nothing changed in that time."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        done, _ = await asyncio.wait({future}, timeout=max(seconds, 0))
        return bool(done)

    def now(self) -> float:
        return self._clock() + self._ahead

    def advance(self, seconds: float) -> None:
        """The server's time jumps ahead: tokens, nonces and sessions age."""
        self._ahead += seconds
        self.changed()

    def snowflake(self) -> int:
        """A new id, greater than all before it, even if the clock goes back; it tells its time."""
        self._serial += 1
        self._last_moment = max(self._last_moment, int((self.now() - EPOCH) * 1000))
        return (self._last_moment << 22) | (self._serial & 0x3FFFFF)

    def serial(self) -> int:
        self._serial += 1
        return self._serial
