"""Blocking input and output on separate threads, without Python's buffers.

A thread blocked inside a buffered stream holds the stream's lock, and the interpreter aborts if it exits then.
"""

from __future__ import annotations

import asyncio
import io
import os
import select
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TextIO, TypeVar

CHUNK = 65_536
"""Bytes in one read: the capacity of a Linux pipe."""
T = TypeVar("T")
_Call = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Streams:
    """The standard streams of the process."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @property
    def interactive(self) -> bool:
        """Whether input and output are a terminal."""
        return self.stdin.isatty() and self.stdout.isatty()


class BlockingCalls:
    """Runs calls one after another on a daemon thread.

    The event loop waits for the threads of its default executor when it ends, so a read that never returns would keep
    the process alive there.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """Returns or raises what `call` does. On cancellation the call continues and its result is lost."""
        done: Future[T] = Future()

        def execute() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                result = call()
            except Exception as error:  # noqa: BLE001 - thread entry point: the caller gets the error
                done.set_exception(error)
            else:
                done.set_result(result)

        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(execute)
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """End the thread after the queued calls."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def lines(stream: TextIO) -> Iterator[str]:
    """Lines without line ends, decoded as UTF-8 with U+FFFD for invalid bytes. Raises OSError."""
    read = _reader(stream)
    begun: list[bytes] = []
    while chunk := read():
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield _line([*begun, part])
            begun = []
        begun.append(rest)
    if any(begun):
        yield _line(begun)


def write(stream: TextIO, text: str) -> None:
    """Write and flush the text; characters that the stream's encoding can't represent become "?". Raises OSError."""
    number = _number(stream)
    if number is None:
        stream.write(text)
        stream.flush()
        return
    left = memoryview(text.encode(stream.encoding or "utf-8", "replace"))
    while left:
        try:
            left = left[os.write(number, left) :]
        except BlockingIOError:
            select.select([], [number], [])


def _reader(stream: TextIO) -> Callable[[], bytes]:
    number = _number(stream)
    if number is None:
        return lambda: stream.readline().encode("utf-8", "replace")

    def read() -> bytes:
        while True:
            try:
                return os.read(number, CHUNK)
            except BlockingIOError:
                select.select([number], [], [])

    return read


def _number(stream: TextIO) -> int | None:
    """The stream's file descriptor; None for an in-memory stream."""
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        return None


def _line(parts: list[bytes]) -> str:
    return b"".join(parts).decode("utf-8", "replace").removeprefix("\ufeff").removesuffix("\r")
