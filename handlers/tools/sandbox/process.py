"""Runs one command in its sandbox and removes all of its processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, TypeVar

from handlers.tools.sandbox.resource_monitor import ResourceMonitor
from handlers.tools.sandbox.result import Ended
from handlers.tools.sandbox.transcript import Transcript
from routing.process import close_descriptors_on_exec

TICK_SECONDS = 0.05
"""Interval for checking processes and memory."""
DISK_SECONDS = 0.5
FILLING_SECONDS = 0.01
"""Interval for checking the folder, and for checking the free space, which triggers an extra check of the folder. It
bounds how far a command can write beyond its limit."""
START_SECONDS = 20.0
"""bubblewrap needs 10 ms, or a second on a busy memory card."""
DRAIN_SECONDS = 5.0
"""For the last 64 kB of a pipe after its writers are gone."""
_CHUNK = 65536
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
"""The environment of bubblewrap, which commands can read. Contains nothing of the bot's."""


T = TypeVar("T")


class BrokenSandbox(Exception):
    """bubblewrap failed before the command started, or the kernel killed it. The transcript has its message."""


class SandboxProcess:
    """The bubblewrap process, the first process inside (`init`, a pidfd), and the output."""

    def __init__(
        self, process: asyncio.subprocess.Process, status: asyncio.StreamReader, transcript: Transcript
    ) -> None:
        self.pid = process.pid
        self._process = process
        self._status = status
        self._transcript = transcript
        self._init: int | None = None
        self._reading = asyncio.create_task(self._read())
        self._exit = asyncio.create_task(self._exit_code())
        self._begun = asyncio.Event()
        self._flooded = asyncio.Event()

    async def begin(self) -> None:
        """Waits until bubblewrap has created the first process inside, or has failed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._begun.wait(), START_SECONDS)

    async def over(
        self, monitor: ResourceMonitor, threads: Executor, stop: asyncio.Future[None]
    ) -> tuple[Ended, int | None]:
        """Waits for the command to end, to reach a limit, or for `stop`. Raises BrokenSandbox."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def check(function: Callable[[], T]) -> asyncio.Future[T]:
            return loop.run_in_executor(threads, function)

        looks = {asyncio.create_task(_load(monitor, check, done)), asyncio.create_task(_disk(monitor, check, done))}
        flood = asyncio.create_task(self._flooded.wait())
        waited: set[asyncio.Future[Any]] = {self._exit, stop, flood, *looks}
        try:
            over, _ = await asyncio.wait(waited, timeout=monitor.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._transcript.overflowing:
                return "output", None
            if self._exit in over:
                return "exit", self._exit.result()
            passed = [task.result() for task in looks & over]
            return (passed[0] or "exit") if passed else "exit" if stop.done() else "seconds", None
        finally:
            self.kill()
            flood.cancel()
            done.set_result(None)
            await asyncio.wait(looks)

    async def end(self) -> None:
        """Kills everything inside and waits until it is gone. The kernel kills a namespace with its first process, and
        reaps that process last."""
        self.kill()
        if self._init is not None:
            await _readable(self._init)
            os.close(self._init)
            self._init = None
        await self._process.wait()
        await asyncio.wait({self._reading, self._exit}, timeout=DRAIN_SECONDS)
        for task in (self._reading, self._exit):
            task.cancel()
        await asyncio.gather(self._reading, self._exit, return_exceptions=True)

    def kill(self) -> None:
        """Kills without waiting."""
        with suppress(ProcessLookupError):
            if self._init is not None:
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            else:
                self._process.kill()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(_CHUNK):
            self._transcript.add(chunk)
            if self._transcript.overflowing:
                self.kill()
                self._flooded.set()

    async def _exit_code(self) -> int:
        """bubblewrap reports the first process immediately, but the exit code only if the command ran."""
        child = (await self._read_status()).get("child-pid")
        with suppress(ProcessLookupError):
            if child is not None:
                self._init = os.pidfd_open(child)
        self._begun.set()
        code = (await self._read_status()).get("exit-code")
        if not isinstance(code, int):
            raise BrokenSandbox
        return code

    async def _read_status(self) -> dict[str, Any]:
        line = await self._status.readline()
        return json.loads(line) if line else {}


@asynccontextmanager
async def opened(
    command: Sequence[str | bytes], passed: Sequence[int], stdin: int, status: int, transcript: Transcript
) -> AsyncIterator[SandboxProcess]:
    """Starts bubblewrap and cleans up afterwards. `status` is the read end of the pipe for `--json-status-fd`; the last
    of `passed` is its write end. Both are closed here."""
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(status, "rb", 0)
    )
    try:
        await asyncio.to_thread(close_descriptors_on_exec)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=passed,
            env=_ENVIRONMENT,
            cwd="/",
        )
    except (OSError, asyncio.CancelledError):
        pipe.close()
        raise
    finally:
        os.close(passed[-1])
    sandboxed = SandboxProcess(process, reader, transcript)
    try:
        await sandboxed.begin()
        yield sandboxed
    finally:
        await sandboxed.end()
        pipe.close()


class _Check(Protocol):
    def __call__(self, function: Callable[[], T], /) -> Awaitable[T]: ...


async def _load(monitor: ResourceMonitor, check: _Check, done: asyncio.Future[None]) -> Ended | None:
    while not done.done():
        if passed := await check(monitor.load):
            return passed
        await asyncio.wait({done}, timeout=TICK_SECONDS)
    return None


async def _disk(monitor: ResourceMonitor, check: _Check, done: asyncio.Future[None]) -> Ended | None:
    loop = asyncio.get_running_loop()
    while not done.done():
        began = loop.time()
        if passed := await check(monitor.disk):
            return passed
        following = loop.time() + DISK_SECONDS
        pause = max(FILLING_SECONDS, loop.time() - began)
        await asyncio.wait({done}, timeout=pause)
        while not done.done() and loop.time() < following and not await check(monitor.filling):
            await asyncio.wait({done}, timeout=FILLING_SECONDS)
    return None


async def _readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
