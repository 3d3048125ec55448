"""Runs strange code for people, each in their own folder."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from handlers.tools.folder import own_folder
from handlers.tools.sandbox import seccomp
from handlers.tools.sandbox.box import BrokenSandbox, opened
from handlers.tools.sandbox.bubblewrap import FORMS, Bubblewrap, Form, interpreter, sealed
from handlers.tools.sandbox.limits import Ran, SandboxLimits
from handlers.tools.sandbox.size import measure
from handlers.tools.sandbox.transcript import Transcript
from handlers.tools.sandbox.watch import Watch, machine
from routing.errors import ToolFailed

log = logging.getLogger("handlers.tools")

TOGETHER, EACH = 4, 2
"""Commands at once, in all and for one person; more wait their turn, outside their time limit."""
PROBE_SECONDS = 10.0
_PROBE = (str(interpreter()), "-c", "print(6 * 7)")
_SOURCE = Path(__file__).resolve().parents[3]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Order:
    """What to run, for whom, and how."""

    files: Path
    person_id: int
    argv: Sequence[str]
    stdin: bytes
    bubblewrap: Bubblewrap


class Sandbox:
    """`files` holds a folder for each person, `files/<person id>/`, made when it is needed. bubblewrap 0.8 or newer is
    needed; `program` is its name or path."""

    def __init__(self, files: Path, limits: SandboxLimits, program: str = "bwrap") -> None:
        self.limits = limits
        self.form: Form | None = None
        self._files = files
        self._program = program
        self._off: str | None = None
        self._probing = asyncio.Lock()
        self._all = asyncio.Semaphore(TOGETHER)
        self._each: defaultdict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(EACH))
        self._threads = ThreadPoolExecutor(2 * TOGETHER, thread_name_prefix="sandbox")

    async def reason_off(self) -> str | None:
        """Why no command can be run here, as a clause with its mend; None when they can. Found out once, by running
        one."""
        async with self._probing:
            if self.form is None and self._off is None:
                self._off = await self._probe()
            return self._off

    async def run(self, person_id: int, argv: Sequence[str], stdin: bytes = b"") -> Ran:
        """Run a program with the person's folder as its working directory. Raises ToolFailed when it can't even be
        started. Cancelled, it kills everything inside and returns when the last process is gone."""
        if off := await self.reason_off():
            raise ToolFailed(f"Nothing can be run here: {off}. Only the owner can mend that; go on without.")
        assert self.form is not None
        async with self._each[person_id], self._all:
            try:
                return await self._stoppable(_Order(self._files, person_id, argv, stdin, self._as(self.form)))
            except BrokenSandbox as error:
                log.warning("[Sandbox] %s", error)
                raise ToolFailed("The sandbox broke before the command was over. Try once more.") from None

    def _as(self, form: Form) -> Bubblewrap:
        venv = () if sys.prefix == sys.base_prefix else (Path(sys.prefix),)
        files = self._files.absolute()
        return Bubblewrap(self._program, form, self.limits, (files.parent, files, _SOURCE, *venv))

    async def _stoppable(self, order: _Order) -> Ran:
        """The command's own task is never cancelled, so that a second cancellation can't leave half of it behind."""
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(self._ran(order, stop))
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

    async def _ran(self, order: _Order, stop: asyncio.Future[None]) -> Ran:
        bubblewrap, limits = order.bubblewrap, order.bubblewrap.limits
        loop, transcript = asyncio.get_running_loop(), Transcript(limits.output_chars)
        with ExitStack() as fds:
            folder = await self._in_thread(fds.enter_context, own_folder(order.files, order.person_id))
            size = await self._in_thread(measure, folder)
            before = await self._in_thread(machine, folder)
            stdin = await self._in_thread(sealed, order.stdin)
            fds.callback(os.close, stdin)
            room = limits.disk_bytes - size.bytes
            status, told = os.pipe()
            command, passed = await self._in_thread(bubblewrap.command, folder, room, told, fds)
            began = loop.time()
            try:
                async with opened([*command, *order.argv], passed, stdin, status, transcript) as box:
                    watch = Watch(box.pid, folder, limits, before, size)
                    ended, code = await box.over(watch, self._threads, stop)
            except BrokenSandbox:
                raise BrokenSandbox(_last_line(transcript.text())) from None
            if ended == "exit" and await self._in_thread(watch.disk) is not None:
                ended, code = "disk", None
            return Ran(transcript.text(), code, ended, loop.time() - began)

    async def _probe(self) -> str | None:
        if shutil.which(self._program) is None:
            return "bubblewrap is not installed (sudo apt install bubblewrap, then restart the bot)"
        if not seccomp.known():
            return f"the sandbox knows x86-64 and 64-bit ARM only, not {platform.machine()}"
        complaints = []
        for form in FORMS:
            complaint = await self._complaint(form)
            if complaint is None:
                self.form = form
                return None
            complaints.append(complaint)
        return f"bubblewrap can't work here ({complaints[0]})"

    async def _complaint(self, form: Form) -> str | None:
        """What goes wrong when Python calculates inside; None when nothing does."""
        bubblewrap = self._as(form)
        bubblewrap = replace(bubblewrap, limits=replace(self.limits, seconds=PROBE_SECONDS))
        with tempfile.TemporaryDirectory(prefix="tierbot-") as empty:
            try:
                ran = await self._stoppable(_Order(Path(empty), 0, _PROBE, b"", bubblewrap))
            except (BrokenSandbox, ToolFailed, OSError) as error:
                return str(error)
        return None if ran.output == "42\n" and ran.exit_code == 0 else _last_line(ran.output) or ran.ended

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip(" .")[:300] if lines else "it said nothing"
