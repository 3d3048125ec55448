"""Limits messages per person in sliding windows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from routing.bounded import Bounded
from routing.errors import ConfigError, Refused

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_LIMIT = re.compile(r"\s*(\d+)\s*/\s*(second|minute|hour|day)s?\s*")
DISORDER_SECONDS = 60.0
"""Messages may arrive out of order by this much. A larger difference means that a clock was set back."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most `count` messages in `seconds`."""

    count: int
    seconds: float


@dataclass(slots=True)
class _Seen:
    """The times of one person's messages, newest last, and whether the person was told about the limit."""

    at: deque[float] = field(default_factory=deque)
    warned: bool = False


def parse_limits(text: str) -> tuple[Window, ...]:
    """Parses `20/minute,100/hour`; `off` means no limit. Raises ConfigError."""
    if text.strip().lower() == "off":
        return ()
    windows = []
    for part in text.split(","):
        found = _LIMIT.fullmatch(part.lower())
        if found is None or int(found.group(1)) == 0:
            raise ConfigError("USER_RATE_LIMIT must look like 20/minute,100/hour or off.")
        windows.append(Window(int(found.group(1)), _SECONDS[found.group(2)]))
    return tuple(windows)


class RateLimit:
    """Counts messages per person. A person over the limit is told once when to come back."""

    def __init__(self, windows: tuple[Window, ...]) -> None:
        self._windows = windows
        self._longest = max((window.seconds for window in windows), default=0.0)
        self._seen = Bounded[Hashable, _Seen]()

    def take(self, who: Hashable, now: float, weight: int = 1) -> bool:
        """Counts a message sent at `now` as `weight` messages. Returns True if it is allowed, False if it is over the
        limit and the person already knows. Raises Refused to tell them. `now` is the time of sending, so a backlog
        after a downtime does not count as a burst."""
        if not self._windows:
            return True
        seen = self._seen.get(who) or _Seen()
        self._seen[who] = seen
        while seen.at and seen.at[0] <= now - self._longest:
            seen.at.popleft()
        while seen.at and seen.at[-1] > now + DISORDER_SECONDS:
            seen.at.pop()
        wait = max(_wait(seen.at, window, now, weight) for window in self._windows)
        if wait <= 0:
            seen.warned = False
            seen.at.extend([now] * weight)
            return True
        if seen.warned:
            return False
        seen.warned = True
        raise _too_many(wait)


def _wait(at: deque[float], window: Window, now: float, weight: int) -> float:
    """Seconds until a message of this weight fits the window. A weight above the window's count needs an empty
    window."""
    room = window.count - min(weight, window.count)
    if len(at) <= room:
        return 0.0
    return at[-room - 1] + window.seconds - now


def _too_many(wait: float) -> Refused:
    if wait < 120:
        return Refused(
            "Too many messages at once. I'll answer again in {seconds} seconds.", seconds=max(1, round(wait))
        )
    return Refused("Too many messages at once. I'll answer again in {minutes} minutes.", minutes=round(wait / 60))
