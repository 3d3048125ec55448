"""Blocking calls beside the event loop that can't hold up the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
_Call = Callable[[], None]


class Lane:
    """Runs calls one after the other on a daemon thread of its own.

    The loop's executor would be waited for at the end, so a read that never returns would keep the process alive.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """What `call` gives back or raises. Cancelled, the call still goes on and what it gives is lost."""
        done: Future[T] = Future()

        def execute() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                result = call()
            except Exception as error:  # passed on to the caller
                done.set_exception(error)
            else:
                done.set_result(result)

        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(execute)
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """Let the thread end after the calls it was given."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
