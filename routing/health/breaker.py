"""The circuit breaker of one model and key: closed, open, or open with one probe running."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Literal

from routing.backoff import exponential
from routing.errors import (
    BadModelRequest,
    ContextOverflow,
    KeyRejected,
    ModelError,
    ModelUnknown,
    OutOfCredit,
    PolicyRefused,
)
from routing.ports import Clock

WINDOW_SECONDS = 600.0
MIN_REQUESTS = 5
MAX_FAILED_SHARE = 0.5
IN_A_ROW = 3
FIRST_SECONDS = 60.0
MAX_SECONDS = 900.0
"""The breaker opens after IN_A_ROW failures, or if more than MAX_FAILED_SHARE of at least MIN_REQUESTS requests within
the window fail. It opens for FIRST_SECONDS, doubling to MAX_SECONDS."""
REMEMBERED = 200
"""Maximum number of requests per window; enough for a reliable share."""
REQUEST_ERRORS = (ContextOverflow, PolicyRefused, BadModelRequest)
"""Errors caused by the request. One person's bad pictures must not block a model for everyone."""
PERMANENT_ERRORS = (KeyRejected, ModelUnknown, OutOfCredit)
"""Errors that would repeat on the next request, so one of them opens the breaker."""


@dataclass(frozen=True, slots=True)
class BreakerStatus:
    """The state of a breaker. An open one may be probed from `until` (Unix seconds); `why` is the last failure."""

    state: Literal["closed", "open", "probing"]
    until: float = 0.0
    why: str = ""


CLOSED = BreakerStatus("closed")


@dataclass(frozen=True, slots=True)
class SavedBreaker:
    """The state saved across restarts: open for `seconds` until `until` (0 if closed); `tries` are (at, failed)."""

    until: float = 0.0
    seconds: float = 0.0
    why: str = ""
    tries: tuple[tuple[float, bool], ...] = ()


@dataclass(slots=True)
class _Probe:
    """`early`: started before the breaker's time, because no other model was left."""

    early: bool
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    error: ModelError | None = None


class Breaker:
    """Decides whether a model may be called. `changed` is called when it opens or closes; it must return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._tries: deque[tuple[float, bool]] = deque()
        self._failed = 0
        self._until = self._seconds = 0.0
        self._why = ""
        self._era = 0
        self._probe: _Probe | None = None

    def status(self) -> BreakerStatus:
        if not self._seconds:
            return CLOSED
        return BreakerStatus("probing" if self._probe else "open", self._until, self._why)

    def begin(self, early: bool = False) -> Trial | None:
        """Start an attempt, to be run inside `with`. None while the breaker is open or its probe is running; `early`
        probes an open breaker before its time."""
        if not self._seconds:
            return Trial(self, self._era, None)
        too_soon = self._clock() < self._until
        if self._probe is not None or (too_soon and not early):
            return None
        self._probe = _Probe(too_soon)
        return Trial(self, self._era, self._probe)

    async def probed(self) -> ModelError | None:
        """Wait for a running probe and return its error, which applies to all waiting calls. None: check the state
        again."""
        probe = self._probe
        if probe is None:
            return None
        await probe.ended.wait()
        return probe.error

    def keep(self) -> SavedBreaker:
        """The state to save. A running probe is not part of it."""
        self._forget_old()
        return SavedBreaker(self._until, self._seconds, self._why, tuple(self._tries))

    def restore(self, kept: SavedBreaker) -> None:
        """Restore a saved state. Times too far in the future (a wrong clock) are cut."""
        now = self._clock()
        if kept.seconds > 0:
            self._seconds = min(max(kept.seconds, FIRST_SECONDS), MAX_SECONDS)
            self._until, self._why = min(kept.until, now + self._seconds), kept.why
        self._tries = deque(sorted(each for each in kept.tries if each[0] <= now)[-REMEMBERED:])
        self._failed = sum(failed for _, failed in self._tries)

    def _ended(self, era: int, error: ModelError | None) -> None:
        """Count an attempt that was no probe. Ignores attempts from before the last change of state."""
        if era != self._era or isinstance(error, REQUEST_ERRORS):
            return
        self._note(error is not None)
        if error is not None and (isinstance(error, PERMANENT_ERRORS) or self._is_bad()):
            self._open(error.reason, FIRST_SECONDS)

    def _probe_ended(self, probe: _Probe, error: ModelError | None) -> None:
        """Close or reopen the breaker after a probe. An early probe that fails changes nothing."""
        blameless = isinstance(error, REQUEST_ERRORS)
        self._free(probe, None if blameless else error)
        if error is None:
            self._close()
        elif not blameless and not probe.early:
            self._open(error.reason, exponential(2, self._seconds, MAX_SECONDS))  # twice the last wait

    def _first_token(self, probe: _Probe) -> int:
        """Close the breaker at the first token; returns the era in which the rest of the attempt counts."""
        self._free(probe)
        self._close()
        return self._era

    def _free(self, probe: _Probe, error: ModelError | None = None) -> None:
        self._probe = None
        probe.error = error
        probe.ended.set()

    def _note(self, failed: bool) -> None:
        self._forget_old()
        self._tries.append((self._clock(), failed))
        self._failed += failed
        if len(self._tries) > REMEMBERED:
            self._failed -= self._tries.popleft()[1]

    def _forget_old(self) -> None:
        oldest = self._clock() - WINDOW_SECONDS
        while self._tries and self._tries[0][0] <= oldest:
            self._failed -= self._tries.popleft()[1]

    def _is_bad(self) -> bool:
        count = len(self._tries)
        in_a_row = count >= IN_A_ROW and all(failed for _, failed in islice(reversed(self._tries), IN_A_ROW))
        return in_a_row or (count >= MIN_REQUESTS and self._failed > MAX_FAILED_SHARE * count)

    def _open(self, why: str, seconds: float) -> None:
        self._until, self._seconds, self._why = self._clock() + seconds, seconds, why
        self._turn()

    def _close(self) -> None:
        self._until, self._seconds, self._why = 0.0, 0.0, ""
        self._turn()

    def _turn(self) -> None:
        self._tries.clear()
        self._failed = 0
        self._era += 1
        self._changed()


class Trial:
    """One attempt. A ModelError that leaves the block counts as its failure. Leaving it without a result (cancelled,
    stopped, out of time) counts for nothing and ends a probe."""

    __slots__ = ("_breaker", "_era", "_open", "_probe")

    def __init__(self, breaker: Breaker, era: int, probe: _Probe | None) -> None:
        self._breaker, self._era, self._probe = breaker, era, probe
        self._open = True

    def first_token(self) -> None:
        """The first token arrived: a probe has succeeded, and waiting calls may start."""
        if self._open and self._probe is not None:
            self._era, self._probe = self._breaker._first_token(self._probe), None

    def end(self, error: ModelError | None = None) -> None:
        """Record the result; only the first call counts."""
        if not self._open:
            return
        self._open = False
        if self._probe is not None:
            self._breaker._probe_ended(self._probe, error)
        else:
            self._breaker._ended(self._era, error)

    def __enter__(self) -> Trial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ModelError):
            self.end(error)
        elif self._open:
            self._open = False
            if self._probe is not None:
                self._breaker._free(self._probe)
