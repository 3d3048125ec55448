"""One command in its sandbox, from its start until nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, suppress
from typing import Any

from handlers.tools.sandbox.limits import Ended
from handlers.tools.sandbox.transcript import Transcript
from handlers.tools.sandbox.watch import Watch

TICK_SECONDS = 0.05
DISK_SECONDS = 0.5
"""How often processes and memory, and how often the folder, are looked at."""
START_SECONDS = 20.0
"""bubblewrap needs 10 ms, from a busy memory card a second."""
DRAIN_SECONDS = 5.0
"""For the last 64 kB of a pipe whose writers are gone."""
_CHUNK = 65536
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
"""bubblewrap's own, which commands could read: nothing of the bot's is in it."""


class BrokenSandbox(Exception):
    """bubblewrap gave up before the command began, or the kernel ended it. What it said is in the transcript."""


class Box:
    """bubblewrap's process, the first process inside (`init`, a descriptor), and what the command prints."""

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

    async def begin(self) -> None:
        """Until bubblewrap has made the first process inside, or has given up."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._begun.wait(), START_SECONDS)

    async def over(self, watch: Watch, threads: Executor, stop: asyncio.Future[None]) -> tuple[Ended, int | None]:
        """Wait for the command's end, the first limit that it passes, or `stop`. Raises BrokenSandbox."""
        loop = asyncio.get_running_loop()
        waited: tuple[asyncio.Future[Any], ...] = (self._exit, stop)
        last, next_disk = loop.time() + watch.limits.seconds, loop.time()
        disk = loop.run_in_executor(threads, watch.disk)
        try:
            while not stop.done():
                await asyncio.wait(waited, timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if self._transcript.overflowing:
                    return "output", None
                if self._exit.done():
                    return "exit", self._exit.result()
                if loop.time() >= last:
                    return "seconds", None
                if passed := await loop.run_in_executor(threads, watch.load):
                    return passed, None
                if disk.done():
                    if passed := disk.result():
                        return passed, None
                    if loop.time() >= next_disk:
                        next_disk = loop.time() + DISK_SECONDS
                        disk = loop.run_in_executor(threads, watch.disk)
            return "exit", None
        finally:
            await asyncio.wait({disk})

    async def end(self) -> None:
        """Kill everything inside at once, and wait until the last of it is gone: the kernel takes all processes of a
        namespace with its first one, which is only gone when they are."""
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
        """Without waiting."""
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

    async def _exit_code(self) -> int:
        """bubblewrap tells of the first process inside at once, of the exit code only if the command ran."""
        child = (await self._told()).get("child-pid")
        with suppress(ProcessLookupError):
            if child is not None:
                self._init = os.pidfd_open(child)
        self._begun.set()
        code = (await self._told()).get("exit-code")
        if not isinstance(code, int):
            raise BrokenSandbox
        return code

    async def _told(self) -> dict[str, Any]:
        line = await self._status.readline()
        return json.loads(line) if line else {}


@asynccontextmanager
async def opened(
    command: Sequence[str | bytes], passed: Sequence[int], stdin: int, status: int, transcript: Transcript
) -> AsyncIterator[Box]:
    """Start bubblewrap; nothing of it is left afterwards. `status` is the readable end of what `--json-status-fd`
    writes to, whose other end is the last of `passed`; both are closed here."""
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(status, "rb", 0)
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=passed,
            env=_ENVIRONMENT,
            cwd="/",
        )
    except OSError:
        pipe.close()
        raise
    finally:
        os.close(passed[-1])
    box = Box(process, reader, transcript)
    try:
        await box.begin()
        yield box
    finally:
        await box.end()
        pipe.close()


async def _readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
