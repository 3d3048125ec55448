"""The breaker of one model under one key: closed, open, and then one probe at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Literal

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
LEAST_REQUESTS = 5
MOST_FAILED = 0.5
IN_A_ROW = 3
FIRST_SECONDS = 60.0
LONGEST_SECONDS = 900.0
"""A share of failures above MOST_FAILED of at least LEAST_REQUESTS within the window opens it, and so do IN_A_ROW, for
FIRST_SECONDS doubling to LONGEST_SECONDS (tier contracts, One turn)."""
REMEMBERED = 200
"""Requests of a window that are looked at, the newest: a share of so many no longer hangs on chance."""
BLAMELESS = (ContextOverflow, PolicyRefused, BadModelRequest)
"""Errors that come from what was asked, and so from a person. Three bad pictures must not take a model from all."""
HOPELESS = (KeyRejected, ModelUnknown, OutOfCredit)
"""Errors that the next request would meet again: one is enough."""


@dataclass(frozen=True, slots=True)
class BreakerStatus:
    """How a breaker stands. An open one may be probed from `until` (Unix seconds) on; `why` is the last failure."""

    state: Literal["closed", "open", "probing"]
    until: float = 0.0
    why: str = ""


CLOSED = BreakerStatus("closed")


@dataclass(frozen=True, slots=True)
class Kept:
    """What survives a restart: open for `seconds`, up to `until` (closed: 0); `tries` are (at, failed)."""

    until: float = 0.0
    seconds: float = 0.0
    why: str = ""
    tries: tuple[tuple[float, bool], ...] = ()


@dataclass(slots=True)
class _Probe:
    """`early`: before its time, because nobody else could be asked."""

    early: bool
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    error: ModelError | None = None


class Breaker:
    """Decides whether a model may be tried. `changed` is told when it opens or closes; it must return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._tries: deque[tuple[float, bool]] = deque()
        self._failed = 0
        self._until = self._seconds = 0.0
        self._why = ""
        self._era = 0
        self._probe: _Probe | None = None

    def standing(self) -> BreakerStatus:
        """Closed, open or being probed."""
        if not self._seconds:
            return CLOSED
        return BreakerStatus("probing" if self._probe else "open", self._until, self._why)

    def begin(self, early: bool = False) -> Trial | None:
        """A try may begin: run it inside `with`. None while the breaker is open or its one probe is under way; `early`
        probes an open one before its time."""
        if not self._seconds:
            return Trial(self, self._era, None)
        too_soon = self._clock() < self._until
        if self._probe is not None or (too_soon and not early):
            return None
        self._probe = _Probe(too_soon)
        return Trial(self, self._era, self._probe)

    async def probed(self) -> ModelError | None:
        """Wait for the probe under way, if there is one. Its error, which then is everybody's; None: look again."""
        probe = self._probe
        if probe is None:
            return None
        await probe.ended.wait()
        return probe.error

    def keep(self) -> Kept:
        """For the next start. A probe under way is none by then."""
        self._forget_old()
        return Kept(self._until, self._seconds, self._why, tuple(self._tries))

    def restore(self, kept: Kept) -> None:
        """As it was; what lies in the future by a wrong clock is brought back to what can be."""
        now = self._clock()
        if kept.seconds > 0:
            self._seconds = min(max(kept.seconds, FIRST_SECONDS), LONGEST_SECONDS)
            self._until, self._why = min(kept.until, now + self._seconds), kept.why
        self._tries = deque(sorted(each for each in kept.tries if each[0] <= now)[-REMEMBERED:])
        self._failed = sum(failed for _, failed in self._tries)

    def _ended(self, era: int, error: ModelError | None) -> None:
        """A try that was no probe. One that began before the breaker last opened or closed comes too late to tell."""
        if era != self._era or isinstance(error, BLAMELESS):
            return
        self._note(error is not None)
        if error is not None and (isinstance(error, HOPELESS) or self._is_bad()):
            self._open(error.reason, FIRST_SECONDS)

    def _probe_ended(self, probe: _Probe, error: ModelError | None) -> None:
        """An early probe that fails changes nothing: the breaker was to stay open anyway."""
        blameless = isinstance(error, BLAMELESS)
        self._free(probe, None if blameless else error)
        if error is None:
            self._close()
        elif not blameless and not probe.early:
            self._open(error.reason, min(2 * self._seconds, LONGEST_SECONDS))

    def _speaks(self, probe: _Probe) -> int:
        """The era in which the rest of this try counts as any other's."""
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
        return in_a_row or (count >= LEAST_REQUESTS and self._failed > MOST_FAILED * count)

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
    """One try. Left without a word (cancelled, stopped, out of the turn's time) it counts for nothing and frees its
    place; a ModelError that leaves the block is its failure."""

    __slots__ = ("_breaker", "_era", "_open", "_probe")

    def __init__(self, breaker: Breaker, era: int, probe: _Probe | None) -> None:
        self._breaker, self._era, self._probe = breaker, era, probe
        self._open = True

    def speaks(self) -> None:
        """The first token is there, so a probe has proved enough and nobody need wait for it any more."""
        if self._open and self._probe is not None:
            self._era, self._probe = self._breaker._speaks(self._probe), None

    def end(self, error: ModelError | None = None) -> None:
        """It answered, or failed. Only the first word counts."""
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
