"""Catches unexpected errors in background work."""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Self


class ErrorBoundary:
    """A context manager that logs an unexpected error in its block and continues after it.

    It also catches a CancelledError raised by something that the block awaits, but not the cancellation of this task.
    The same error is not logged twice in a row. `error` is the error of the latest block, None after a success.
    """

    def __init__(self, log: logging.Logger, message: str, *values: object) -> None:
        self.error: BaseException | None = None
        self._log = log
        self._message = message
        self._values = values
        self._logged = ""

    def __enter__(self) -> Self:
        self.error = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            self._logged = ""
        elif isinstance(error, Exception) or (isinstance(error, asyncio.CancelledError) and not _is_cancelled()):
            self.error = error
            if repr(error) != self._logged:
                self._log.error(self._message, *self._values, exc_info=error)
                self._logged = repr(error)
            return True
        return False


def _is_cancelled() -> bool:
    """Whether this task is cancelled, and not only something that it awaits."""
    return (task := asyncio.current_task()) is not None and task.cancelling() > 0
