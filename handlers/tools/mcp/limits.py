"""What one server may take of the bot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, bytes, characters. A server's own `timeout` is the limit of its calls, and of its start if longer."""

    start_seconds: float = 20.0
    first_delay: float = 1.0
    longest_delay: float = 300.0
    steady_seconds: float = 30.0
    """A connection that held so long was a good one: the next delay is the first."""
    debounce_seconds: float = 0.5
    refresh_seconds: float = 5.0
    """From one list that was asked for to the next, however often a server says that it is another."""
    reading_seconds: float = 10.0
    """What reading one list may take; the tools that are not read by then are left out."""
    end_seconds: float = 2.0
    """A child may take so long to end after its stdin was closed, and again after SIGTERM."""
    message_bytes: int = 4_000_000
    """One message of JSON: parsing it takes about 30 ms."""
    doubt_seconds: float = 60.0
    """Between two failures of tools after which a server is asked whether it has other tools now."""
    result_chars: int = 1_000_000
    tools: int = 1_000
    pages: int = 100
    description_chars: int = 4_096
    schema_chars: int = 32_768
    messages_per_second: float = 500.0
    bytes_per_second: float = 4_000_000.0
    burst_seconds: float = 4.0
    """What may come at once, in seconds of the two above. More is read later, so that the server waits at its pipe."""


USUAL = Limits()
MOST_DEPTH = 100
"""Objects and lists inside one another. The SDK fails at 255, providers at fewer."""


def is_deeper(value: object, most: int = MOST_DEPTH) -> bool:
    """Whether there are more levels in it."""
    level = [value]
    for _ in range(most + 1):
        level = [
            each
            for held in level
            if isinstance(held, dict | list)
            for each in (held.values() if isinstance(held, dict) else held)
        ]
        if not level:
            return False
    return True


class Pace:
    """Slows the reading of a server that floods; the others go on."""

    def __init__(self, limits: Limits, now: float | None = None) -> None:
        self._limits = limits
        self._spent = 0.0
        self._at = monotonic() if now is None else now

    async def spend(self, size: int, messages: int) -> None:
        """Take note of what was read; sleeps while that is too much. Lets others run in any case."""
        await asyncio.sleep(self.owed(size, messages, monotonic()))

    def owed(self, size: int, messages: int, now: float) -> float:
        """Seconds to wait after this much more."""
        limits = self._limits
        cost = max(size / limits.bytes_per_second, messages / limits.messages_per_second)
        self._spent = max(0.0, self._spent - (now - self._at)) + cost
        self._at = now
        return max(0.0, self._spent - limits.burst_seconds)
