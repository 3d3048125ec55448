"""Lets /stop end a running turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(Exception):
    """The person stopped the turn."""


class Stop:
    """Ends a turn. Only waiting for models and tools is cancelled, never storing the result."""

    def __init__(self) -> None:
        self.requested = False
        self._listening: asyncio.Task[object] | None = None

    def request(self) -> None:
        """End the turn now, or when it next waits for a model or a tool."""
        if not self.requested and self._listening is not None:
            self._listening.cancel()
        self.requested = True

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Lets `request` end the block. Raises Stopped then, or at once if the turn was stopped before. If the task is
        cancelled, too, for example by a shutdown, that wins."""
        if self.requested:
            raise Stopped
        task = asyncio.current_task()
        assert task is not None
        self._listening, cancelled_before = task, task.cancelling()
        try:
            yield
        except asyncio.CancelledError:
            if not self.requested or task.cancelling() > cancelled_before + 1:
                raise
            raise Stopped from None
        finally:
            self._listening = None
            if self.requested:  # also if a library swallowed the cancellation
                task.uncancel()
