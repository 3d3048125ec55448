"""Receiving from a platform: the first attempt to connect, problems reported once, pauses between attempts, a watchdog,
and events that can't be parsed."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from bot.adapters.shared.descriptor import CommonPace
from bot.platform import Progress
from routing.backoff import exponential
from routing.errors import Reason, StorageFault
from routing.ports import Clock

T = TypeVar("T")
FIRST_SECONDS = 3.0
"""How long `FirstAttempt.wait` waits."""


class FirstAttempt:
    """The outcome of the first attempt to connect, for which the start of a platform waits."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()
        self._error: Exception | None = None

    @property
    def pending(self) -> bool:
        return not self._ended.is_set()

    def end(self, error: Exception | None = None) -> None:
        """Set the outcome; later calls are ignored."""
        if self.pending:
            self._error = error
            self._ended.set()

    async def wait(self, connecting: asyncio.Task[None]) -> None:
        """Return after the first attempt, or after FIRST_SECONDS while connecting continues. Raises the error of the
        attempt, or of the task that makes it."""
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({ended, connecting}, timeout=FIRST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self._error is not None:
            raise self._error
        if connecting.done():
            connecting.result()


class ConnectionBackoff:
    """Logs each kind of problem once and keeps it in `progress.problem`. Pauses grow until `recovered`."""

    UNSAVED: str
    """What happens to messages that can't be saved because of `{error}`."""

    def __init__(self, platform: str, progress: Progress, pace: CommonPace) -> None:
        self._platform = platform
        self._progress = progress
        self._pace = pace
        self._failures = 0
        self._reported = ""
        """The template of the last problem."""
        self._lasting = ""
        """A problem that remains while the connection works."""
        self._log = _logger(platform)

    def recovered(self) -> None:
        """Receiving works again."""
        self._failures = 0
        self._reported = ""
        if self._progress.problem not in ("", self._lasting):
            self._log.info("%s works again", self._platform)
        self._progress.problem = self._lasting

    def saving_failed(self, error: BaseException) -> float:
        """Seconds to wait after messages could not be saved."""
        why = error.reason if isinstance(error, StorageFault) else type(error).__name__
        self._report(Reason(self.UNSAVED, error=why))
        return self._pause()

    def _pause(self, first: float | None = None, longest: float | None = None) -> float:
        """Seconds to wait after one more failure."""
        self._failures += 1
        return exponential(self._failures, first or self._pace.backoff, longest or self._pace.longest_backoff)

    def _report(self, problem: Reason, level: int = logging.ERROR) -> None:
        """Log the problem, unless the last one had the same template."""
        if self._reported != problem.template:
            self._failures = 0
            self._log.log(level, "%s: %s", self._platform, problem)
        self._reported = problem.template
        self._progress.problem = problem


class ReceiveLoop(ABC):
    """Receives in a task, which is started again with fresh connections if it fails or if nothing was heard for
    `pace.max_silence` seconds."""

    def __init__(self, platform: str, progress: Progress, pace: CommonPace, clock: Clock) -> None:
        self._platform = platform
        self._progress = progress
        self._pace = pace
        self._clock = clock
        self._heard_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._watchdog: asyncio.Task[None] | None = None

    def _begin(self) -> asyncio.Task[None]:
        self._heard_at = self._clock()
        self._task = asyncio.create_task(self._receive())
        self._watchdog = asyncio.create_task(self._watch())
        return self._task

    @abstractmethod
    async def _receive(self) -> None:
        """Receive until cancelled. After a return, it is not started again."""

    @abstractmethod
    async def _renew(self) -> None:
        """Drop the connections, so that `_receive` opens new ones."""

    def _last_heard(self, now: float) -> float:
        """When the platform was last heard. Called in each round of the watchdog."""
        return self._heard_at

    async def _watch(self) -> None:
        log = _logger(self._platform)
        while True:
            await asyncio.sleep(self._pace.watch)
            silent = self._clock() - self._last_heard(self._clock())
            if self._task is None:
                continue
            if self._task.done():
                error = asyncio.CancelledError() if self._task.cancelled() else self._task.exception()
                if error is None:
                    continue
                log.error("%s: receiving failed and is restarting", self._platform, exc_info=error)
            elif silent <= self._pace.max_silence:
                continue
            else:
                log.warning("%s: nothing heard for %d s; reconnecting", self._platform, silent)
                self._task.cancel()
                await asyncio.wait({self._task})
            await self._renew()
            self._heard_at = self._clock()
            self._task = asyncio.create_task(self._receive())


def _logger(platform: str) -> logging.Logger:
    return logging.getLogger(f"bot.adapters.{platform.lower()}")


def parse(platform: str, what: str, raw: object, read: Callable[[], T]) -> T | None:
    """What `read` returns; None if it raises. One event that can't be parsed must not hold up the others."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - receive loop: the libraries raise anything for unknown events
        log = _logger(platform)
        log.error("%s: can't parse %s, skipping it: %s", platform, what, type(error).__name__)
        log.debug("the unreadable event has %s", _outline(raw))
        return None


def _outline(raw: object) -> object:
    """The field names, without what people wrote."""
    return {name: _outline(value) for name, value in raw.items()} if isinstance(raw, dict) else type(raw).__name__
