"""Runs untrusted code for people, each in their own folder."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from handlers.tools.folder import own_folder
from handlers.tools.sandbox import seccomp
from handlers.tools.sandbox.bubblewrap import ISOLATIONS, Bubblewrap, Isolation, interpreter, sealed
from handlers.tools.sandbox.folder_size import measure_or_fail
from handlers.tools.sandbox.guard import Guard
from handlers.tools.sandbox.process import BrokenSandbox, opened
from handlers.tools.sandbox.process_tree import PROCESS_TREES, ProcessTree, is_visible
from handlers.tools.sandbox.resource_monitor import ResourceMonitor, machine
from handlers.tools.sandbox.result import ExecResult
from handlers.tools.sandbox.transcript import Transcript
from routing.config.sandbox import SandboxLimits
from routing.config.sections import ConcurrencyLimits
from routing.errors import Reason, ToolFailed, system_reason
from routing.health.concurrency import ConcurrencyLimiter

log = logging.getLogger("handlers.tools")

MAX_RUNNING, MAX_PER_PERSON = 4, 2
"""Maximum number of parallel commands, in total and per person. The rest of a person's commands wait outside the common
queue, so they can't delay others. Waiting does not count towards the time limit."""
WAIT_SECONDS = 60.0
"""Maximum wait for a slot."""
OVERHEAD_SECONDS = 60.0
"""Seconds added to a command's own limit and queueing: for measuring the folder, a slow start and the shutdown."""
PROBE_SECONDS = 10.0
RETRY_SECONDS = 60.0
"""Wait before another attempt after a temporary failure such as a full disk."""
_TOO_FULL = 128 + signal.SIGXFSZ
"""Exit code of a shell that exceeded the file size limit."""
_PROBE = (str(interpreter()), "-c", "print(6 * 7)")
_SOURCE = Path(__file__).resolve().parents[3]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    """A command, its person and its options."""

    files: Path
    person_id: int
    argv: Sequence[str]
    stdin: bytes
    bubblewrap: Bubblewrap
    kept: int | None = None


NOT_INSTALLED = Reason("bubblewrap is not installed (sudo apt install bubblewrap, then restart the bot)")
NO_PROCESSES = Reason("the bot can't see its processes in /proc, so it can't limit them")


class Sandbox:
    """`files` contains one folder per person, `files/<person id>/`, created on demand. `program` is bubblewrap's name
    or path. The first working entry of `process_trees` is used to find its processes."""

    def __init__(
        self,
        files: Path,
        limits: SandboxLimits,
        program: str = "bwrap",
        process_trees: Sequence[ProcessTree] = PROCESS_TREES,
        wait_seconds: float = WAIT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.limits = limits
        self.isolation: Isolation | None = None
        self.wait_seconds = wait_seconds
        self._files = files
        self._program = program
        self._process_trees = process_trees
        self._process_tree = process_trees[0]
        self._off: str | None = None
        self._next_probe = -math.inf
        self._retry_seconds = retry_seconds
        self._probing = asyncio.Lock()
        self._limiter = ConcurrencyLimiter(time.monotonic, ConcurrencyLimits(MAX_RUNNING, MAX_PER_PERSON))
        self._taken: dict[int, int] = {}
        self.guard = Guard()
        self._threads = ThreadPoolExecutor(3 * MAX_RUNNING, thread_name_prefix="sandbox")

    async def reason_off(self) -> str | None:
        """Why commands can't run and how to fix that, as a clause; None if they can. Determined by a probe that is
        cached: a success permanently, a temporary failure for a minute."""
        loop = asyncio.get_running_loop()
        async with self._probing:
            if self.isolation is None and loop.time() >= self._next_probe:
                self._off = await self._in_thread(self._permanent_reason)
                self._next_probe = math.inf
                if self._off is None:
                    self._off = await self._probe()
                    self._next_probe = loop.time() + self._retry_seconds
            return self._off

    async def run(
        self,
        person_id: int,
        argv: Sequence[str],
        stdin: bytes = b"",
        *,
        seconds: float | None = None,
        server: Path | None = None,
        network: bool = False,
        kept: int | None = None,
    ) -> ExecResult:
        """Runs a program in the person's folder, for at most `seconds` instead of the usual limit. `server` is a Unix
        socket that the program finds at `SERVER`. With `network`, it has the machine's network whatever the limits say,
        so it must not run the person's own code. `kept` is how many characters of the output are kept. Raises
        ToolFailed if it can't be started. On cancellation, kills everything inside and returns when the last process is
        gone."""
        if off := await self.reason_off():
            raise ToolFailed(f"Nothing can be run here: {off}. Only the owner can fix that; go on without it.")
        assert self.isolation is not None
        async with AsyncExitStack() as slot:
            try:
                async with asyncio.timeout(self.wait_seconds):
                    await slot.enter_async_context(self._limiter.slot("sandbox", person_id))
            except TimeoutError:
                raise ToolFailed(
                    f"The sandbox was busy with other commands for {self.wait_seconds:.0f} s, so this one was not "
                    "started: try again in a minute."
                ) from None
            bubblewrap = replace(self._bubblewrap(self.isolation), server=server)
            limits = replace(self.limits, network=network or self.limits.network)
            bubblewrap = replace(bubblewrap, limits=replace(limits, seconds=seconds or limits.seconds))
            try:
                return await self._stoppable(_Job(self._files, person_id, argv, stdin, bubblewrap, kept))
            except BrokenSandbox as error:
                log.warning("[Sandbox] %s", error)
                raise ToolFailed("The sandbox broke before the command ended. Try once more.") from None

    def _bubblewrap(self, isolation: Isolation) -> Bubblewrap:
        venv = () if sys.prefix == sys.base_prefix else (Path(sys.prefix),)
        files = self._files.absolute()
        return Bubblewrap(self._program, self.guard.mark, isolation, self.limits, (files.parent, files, _SOURCE, *venv))

    async def _stoppable(self, job: _Job) -> ExecResult:
        """Runs the command in a task that is never cancelled, so that a second cancellation can't leave processes
        behind."""
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(self._execute(job, stop))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set_result(None)
            while not running.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({running})
            if not running.cancelled():
                running.exception()
            raise

    async def _execute(self, job: _Job, stop: asyncio.Future[None]) -> ExecResult:
        bubblewrap, limits = job.bubblewrap, job.bubblewrap.limits
        loop, transcript = asyncio.get_running_loop(), Transcript(job.kept or limits.printed_chars)
        with ExitStack() as fds:
            folder = await self._in_thread(fds.enter_context, own_folder(job.files, job.person_id))
            size = await self._in_thread(measure_or_fail, folder)
            before = await self._in_thread(machine, folder)
            stdin = await self._in_thread(sealed, job.stdin)
            fds.callback(os.close, stdin)
            await self._in_thread(self.guard.start)
            room = limits.disk_bytes - size.bytes
            status, status_end = os.pipe()
            command, passed = await self._in_thread(bubblewrap.command, folder, room, status_end, fds)
            began = loop.time()
            try:
                async with opened([*command, *job.argv], passed, stdin, status, transcript) as process:
                    fds.callback(self._taken.pop, process.pid, None)
                    monitor = ResourceMonitor(
                        process.pid, folder, limits, before, size, self._process_tree, self._taken
                    )
                    ended, code = await process.over(monitor, self._threads, stop)
            except BrokenSandbox:
                raise BrokenSandbox(_last_line(transcript.result()[0])) from None
            if ended == "exit" and (code == _TOO_FULL or await self._in_thread(monitor.disk) is not None):
                ended, code = "disk", None
            output, cut = transcript.result()
            return ExecResult(output, code, ended, loop.time() - began, cut, room <= 0)

    def _permanent_reason(self) -> Reason | None:
        """A permanent reason why no command can run until something is installed."""
        if shutil.which(self._program) is None:
            return NOT_INSTALLED
        if seccomp.known():
            return None
        return Reason("the sandbox only supports x86-64 and 64-bit ARM, not {machine}", machine=platform.machine())

    async def _probe(self) -> Reason | None:
        problems: list[str] = []
        try:
            process_tree = await self._in_thread(lambda: next(filter(is_visible, self._process_trees), None))
            if process_tree is None:
                return NO_PROCESSES
            self._process_tree = process_tree
            for isolation in ISOLATIONS:
                problem = await self._problem(isolation)
                if problem is None:
                    self.isolation = isolation
                    if isolation.proc and not isolation.hidden:
                        log.warning("[Sandbox] Commands can read the path of the workspace here: %s", problems[0])
                    return None
                problems.append(problem)
        except OSError as error:
            return Reason("its test failed ({error})", error=system_reason(error))
        if "Unknown option" in problems[0]:
            words = "bubblewrap is too old ({error}): 0.10 or newer is needed, or 0.8 with the security update of 2024"
            return Reason(words, error=problems[0])
        return Reason("bubblewrap can't work here ({error})", error=problems[0])

    async def _problem(self, isolation: Isolation) -> str | None:
        """The error when Python runs with this isolation; None if it works."""
        bubblewrap = self._bubblewrap(isolation)
        bubblewrap = replace(bubblewrap, limits=replace(self.limits, seconds=PROBE_SECONDS))
        empty = await self._in_thread(tempfile.TemporaryDirectory, prefix="tierbot-")
        try:
            ran = await self._stoppable(_Job(Path(empty.name), 0, _PROBE, b"", bubblewrap))
        except (BrokenSandbox, ToolFailed) as error:
            return str(error)
        finally:
            await self._in_thread(empty.cleanup)
        return None if ran.output == "42\n" and ran.exit_code == 0 else _last_line(ran.output) or ran.ended

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip(" .")[:300] if lines else "no output"
