"""The child process that serves one local model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from pathlib import Path

from routing.errors import Reason, Unreachable
from routing.llm.local.server import EXIT_PACKAGE_BROKEN, EXIT_PACKAGE_MISSING

_ROOT = Path(__file__).resolve().parents[3]
_LOG_KEPT = 16_384
_TELLING = ("error loading model:", "failed to load model", "failed to initialize the context:", "GGML_ASSERT")
_NO_MEMORY = ("failed to allocate", "insufficient memory", "MemoryError", "bad_alloc", "Cannot allocate memory")


@dataclass(frozen=True, slots=True)
class LocalAddress:
    """Base URL of a local OpenAI-compatible server, its key and the model's name."""

    base_url: str
    api_key: str
    model_name: str


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a child: interpreter command, context in tokens, and seconds to become ready and to exit."""

    interpreter: tuple[str, ...] = (sys.executable,)
    context: int = 4096
    ready_seconds: float = 120.0
    end_seconds: float = 5.0


class LocalServer:
    """A child process that accepts requests. Created by `start`."""

    def __init__(self, child: _Child, address: LocalAddress, launch: Launch) -> None:
        self._child = child
        self._launch = launch
        self.address = address
        self.last_used = 0.0

    @classmethod
    async def start(cls, name: str, weights: Path, launch: Launch) -> LocalServer:
        """Start a child and wait until it accepts requests. Raises Unreachable with advice."""
        model = f"local/{name}"
        api_key = secrets.token_urlsafe(32)
        child = await _Child.spawn(model, name, weights, launch)
        try:
            async with asyncio.timeout(launch.ready_seconds):
                port = await child.port(api_key)
        except TimeoutError as error:
            words = "{file} was not loaded within {seconds:g} s"
            raise Unreachable(model, Reason(words, file=weights.name, seconds=launch.ready_seconds)) from error
        except _Died as death:
            raise Unreachable(model, _explain(death, weights)) from death
        else:
            return cls(child, LocalAddress(f"http://127.0.0.1:{port}/v1", api_key, name), launch)
        finally:
            if not child.answering:
                await child.end(0)

    @property
    def pid(self) -> int:
        return self._child.process.pid

    @property
    def running(self) -> bool:
        return self._child.process.returncode is None

    async def close(self) -> None:
        """Stop the child; running answers are aborted."""
        await self._child.end(self._launch.end_seconds)


class _Died(Exception):
    """The child exited before it was ready: exit code (negative: signal) and the end of its log."""

    def __init__(self, code: int, log: str) -> None:
        super().__init__(f"exit code {code}")
        self.code = code
        self.log = log


class _Child:
    """The process and the end of its stderr."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.answering = False
        self._log = b""
        self._reader = asyncio.create_task(self._read_log())

    @classmethod
    async def spawn(cls, model: str, name: str, weights: Path, launch: Launch) -> _Child:
        """Start the process in its own session, so that Ctrl-C in the terminal doesn't reach it."""
        command = (*launch.interpreter, "-m", "routing.llm.local.server", "--model", str(weights), "--name", name)
        try:
            process = await asyncio.create_subprocess_exec(
                *command, "--context", str(launch.context), stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=_ROOT,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Unreachable(model, Reason("its process can't be started ({error})", error=error.strerror)) from error
        return cls(process)

    async def port(self, api_key: str) -> int:
        """Wait for the port on which the child accepts requests. Raises _Died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(ConnectionError):
            self.process.stdin.write(api_key.encode() + b"\n")
            await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            code = await self.process.wait()
            await self._reader
            raise _Died(code, self._log.decode(errors="replace"))
        port = int(json.loads(line)["port"])
        self.answering = True
        return port

    async def end(self, seconds: float) -> None:
        """Send SIGTERM, after `seconds` SIGKILL, and wait for the exit."""
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            self.process.terminate()
            async with asyncio.timeout(seconds):
                await self.process.wait()
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        await self._reader

    async def _read_log(self) -> None:
        """Read stderr all the time, so that the child never blocks; keep its end for error messages."""
        assert self.process.stderr is not None
        while chunk := await self.process.stderr.read(_LOG_KEPT):
            self._log = (self._log + chunk)[-_LOG_KEPT:]


def _explain(death: _Died, weights: Path) -> Reason:
    """Why a child exited before it was ready, with advice where there is any."""
    last = _telling_line(death.log)
    if death.code == EXIT_PACKAGE_MISSING:
        return Reason("llama.cpp is not installed: pip install xllamacpp")
    if death.code == EXIT_PACKAGE_BROKEN:
        if "libgomp" in last:
            return Reason("llama.cpp can't be loaded: {error} (install the system package libgomp1)", error=last)
        return Reason("llama.cpp can't be loaded: {error}", error=last)
    if death.code == -signal.SIGILL:
        return Reason(
            "this processor lacks instructions that the prebuilt llama.cpp needs (AVX2 on x86-64); "
            "build it here: pip install --force-reinstall --no-binary xllamacpp xllamacpp"
        )
    if death.code == -signal.SIGKILL or any(sign in death.log for sign in _NO_MEMORY):
        return Reason("not enough memory for {file}: free some, or use a smaller model", file=weights.name)
    ended = f"signal {-death.code}" if death.code < 0 else f"exit code {death.code}"
    words = "llama.cpp ended with {ended} on {file}: {error}"
    return Reason(words, ended=ended, file=weights.name, error=last or "-")


def _telling_line(log: str) -> str:
    """The first known error line of a log, else its last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for line in lines:
        for sign in _TELLING:
            if sign in line:
                return line[line.index(sign) :]
    return lines[-1] if lines else ""
