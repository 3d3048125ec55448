"""One worker process: its start, its answers, and why it ended."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routing.errors import EmbedderFailed
from routing.tools.embedding.framing import BrokenFrame, Frame, receive
from routing.tools.embedding.worker_process import LOADER

_ROOT = Path(__file__).resolve().parents[3]
_LOG_KEPT = 16_384
_LONGEST_REASON = 160


@dataclass(frozen=True, slots=True)
class Launch:
    """How a process is started: its model, what loads it, the interpreter's command, and seconds to be ready (a model
    may come over the network) and to answer one question (of a few texts)."""

    model: str
    loader: str = LOADER
    interpreter: tuple[str, ...] = (sys.executable,)
    load_seconds: float = 600.0
    answer_seconds: float = 30.0


class Child:
    """A process that answers. Made by `start` only."""

    def __init__(self, process: Process, launch: Launch) -> None:
        loop = asyncio.get_running_loop()
        self._process = process
        self._launch = launch
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[Frame]] = {}
        self._loaded: asyncio.Future[None] = loop.create_future()
        self._watch: asyncio.TimerHandle | None = None
        self._log = b""
        self._why = ""
        self.running = True
        self._logging = asyncio.create_task(self._read_log())
        self._living = asyncio.create_task(self._live())

    @classmethod
    async def start(cls, launch: Launch) -> Child:
        """Start a process and wait until its model is loaded. A session of its own: Ctrl-C in the terminal is for the
        conversation. Raises EmbedderFailed with what to do about it."""
        command = (*launch.interpreter, "-m", "routing.tools.embedding.worker_process", "--model", launch.model)
        try:
            process = await asyncio.create_subprocess_exec(
                *command, "--parent", str(os.getpid()), "--loader", launch.loader,
                stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=_ROOT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise EmbedderFailed(f"{launch.model}: its process can't be started ({error.strerror})") from error
        child = cls(process, launch)
        try:
            async with asyncio.timeout(launch.load_seconds):
                await child._loaded
        except TimeoutError as error:
            raise EmbedderFailed(f"{launch.model} was not loaded within {launch.load_seconds:g} s") from error
        finally:
            if not child._loaded.done() or child._loaded.cancelled() or child._loaded.exception():
                await child.end()
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def why(self) -> EmbedderFailed:
        """Why the process ended; a new error for each who is told."""
        return EmbedderFailed(f"{self._launch.model}: {self._why or self._ending()}")

    def on_end(self, call: Callable[[], None]) -> None:
        """Call it soon after the process has ended, for whatever reason."""
        self._living.add_done_callback(lambda _: call())

    async def ask(self, texts: Sequence[str]) -> Frame:
        """The answer to `texts`. Who is cancelled meanwhile leaves it to be dropped. Raises EmbedderFailed."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        if len(self._calls) == 1:
            self._watch_over()
        self._process.stdin.write(Frame({"id": number, "texts": list(texts)}).packed())
        frame = await answer
        if "failed" in frame.header:
            raise EmbedderFailed(f"{self._launch.model}: {frame.header['failed']}")
        return frame

    async def end(self) -> None:
        """End the process, which has nothing to save; returns when it is gone."""
        self._kill(self._why or "the program is ending")
        await asyncio.shield(self._living)

    async def _live(self) -> None:
        """From the first message to the last; then the process is collected, and whoever waits is told."""
        assert self._process.stdout is not None
        try:
            while (frame := await receive(self._process.stdout)) is not None:
                self._take(frame)
        except (BrokenFrame, KeyError, TypeError) as error:
            self._why = self._why or f"its process sent something other than vectors ({error})"
        self.running = False
        self._kill("")
        await self._process.wait()
        await self._logging
        if self._watch is not None:
            self._watch.cancel()
        waiting: list[asyncio.Future[Any]] = [self._loaded, *self._calls.values()]
        for each in waiting:
            if not each.done():
                each.set_exception(self.why)
        self._calls.clear()

    def _take(self, frame: Frame) -> None:
        if "id" in frame.header:
            answer = self._calls.pop(frame.header["id"])
            if not answer.done():
                answer.set_result(frame)
            self._watch_over()
        elif "failed" in frame.header:
            self._why = str(frame.header["failed"])
        elif not self._loaded.done():
            self._loaded.set_result(None)

    def _watch_over(self) -> None:
        """Count the seconds to the next answer, whether somebody still waits for it or not."""
        if self._watch is not None:
            self._watch.cancel()
        loop = asyncio.get_running_loop()
        seconds = self._launch.answer_seconds
        late = f"no answer within {seconds:g} s"
        self._watch = loop.call_later(seconds, self._kill, late) if self._calls else None

    def _kill(self, why: str) -> None:
        """With all that it has started: it leads a group. Not by `Process.kill`, which collects a process that has just
        ended and so loses how."""
        self._why = self._why or why
        if not self._living.done():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    async def _read_log(self) -> None:
        """Always read, so that the process never waits for us; the end is kept for error messages."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_LOG_KEPT):
            self._log = (self._log + chunk)[-_LOG_KEPT:]

    def _ending(self) -> str:
        """What can be told from outside."""
        code = self._process.returncode
        if code is None:
            return "its process has ended"
        if code == -signal.SIGKILL:
            return "its process was killed, probably because memory ran out"
        lines = [line.strip() for line in self._log.decode(errors="replace").splitlines() if line.strip()]
        said = lines[-1][:_LONGEST_REASON] if lines else "it said nothing"
        return f"its process ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}: {said}"
