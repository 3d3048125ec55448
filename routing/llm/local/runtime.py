"""Runs local models, each in a child process that starts on first use and stops when idle."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from routing.errors import Reason, Unreachable, system_reason
from routing.llm.local.server import EXIT_PACKAGE_BROKEN, EXIT_PACKAGE_MISSING
from routing.llm.local.weights import PREFIX, find
from routing.process import ChildProcess, Supervisor, Worker

_EXIT_SECONDS = 5.0
"""The output of a process may end a moment before it does."""
_SHOWN_CHARACTERS = 160
_ERROR_SIGNS = ("error loading model:", "failed to load model", "failed to initialize the context:", "GGML_ASSERT")
_NO_MEMORY = ("failed to allocate", "insufficient memory", "MemoryError", "bad_alloc", "Cannot allocate memory")

_log = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class LocalServer(Worker):
    """A child process that accepts requests. Created by `start`."""

    process: ChildProcess
    address: LocalAddress

    @classmethod
    async def start(cls, name: str, weights: Path, launch: Launch) -> LocalServer:
        """Start a child and wait until it accepts requests. Raises Unreachable with advice."""
        model = PREFIX + name
        command = (*launch.interpreter, "-m", "routing.llm.local.server", "--model", str(weights), "--name", name)
        try:
            process = await ChildProcess.start(
                (*command, "--context", str(launch.context)), grace_seconds=launch.end_seconds
            )
        except OSError as error:
            raise Unreachable(
                model, Reason("its process can't be started ({error})", error=system_reason(error))
            ) from error
        address = None
        try:
            async with asyncio.timeout(launch.ready_seconds):
                address = await _address(process, name)
        except TimeoutError as error:
            words = "{file} was not loaded within {seconds:g} s"
            raise Unreachable(model, Reason(words, file=weights.name, seconds=launch.ready_seconds)) from error
        finally:
            if address is None:
                await process.kill()
        if address is None:
            raise Unreachable(model, _explanation(process, weights))
        return cls(process, address)

    async def stop(self) -> None:
        """Stop the child; running answers are aborted."""
        await self.process.stop()


class LocalRuntime:
    """Starts and stops the processes of local models, one per file."""

    def __init__(self, models_folder: Path, idle_seconds: float = 600.0, launch: Launch | None = None) -> None:
        self._models_folder = models_folder
        self._idle_seconds = idle_seconds
        self._launch = launch or Launch()
        self._servers: dict[Path, Supervisor[LocalServer]] = {}
        self._closed = False

    @asynccontextmanager
    async def serve(self, model: str) -> AsyncIterator[LocalAddress]:
        """The address of `model` (with or without `local/`); starts or restarts its process if needed and keeps it
        loaded inside the context.

        Concurrent callers share one start, which continues when a caller is cancelled. Raises ModelUnknown (no such
        file, or not a GGUF) or Unreachable (the process failed to start; the reason contains advice).
        """
        server = await self._server(model)
        with server.in_use():
            yield (await server.ready()).address

    async def close(self) -> None:
        """Stop every child, also those still loading. Afterwards `serve` raises Unreachable."""
        self._closed = True
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def _server(self, model: str) -> Supervisor[LocalServer]:
        weights = await asyncio.to_thread(find, model, self._models_folder)
        name = model.removeprefix(PREFIX)
        if self._closed:
            raise Unreachable(PREFIX + name, Reason("the bot is stopping"))
        if weights not in self._servers:
            name = weights.stem if name.startswith("/") else name
            start = partial(_start, name, weights, self._launch)
            self._servers[weights] = Supervisor(f"[Local] {name}", start, self._idle_seconds, _log_crash)
        return self._servers[weights]


async def _start(name: str, weights: Path, launch: Launch) -> LocalServer:
    """Log a failure here: several callers may share the start, or all may be gone."""
    try:
        return await LocalServer.start(name, weights, launch)
    except Unreachable as error:
        _log.warning("[Local] %s", error)
        raise


def _log_crash(server: LocalServer) -> None:
    _log.warning("[Local] %s %s", server.address.model_name, server.process.ending)


async def _address(process: ChildProcess, name: str) -> LocalAddress | None:
    """Wait until the child accepts requests; None if it exits before. Raises Unreachable if it reports no port."""
    api_key = secrets.token_urlsafe(32)
    with suppress(ConnectionError):
        await process.write(api_key.encode() + b"\n")
    line = b""
    try:
        line = await process.stdout.readline()
        if line:
            return LocalAddress(f"http://127.0.0.1:{int(json.loads(line)['port'])}/v1", api_key, name)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        output = line.decode(errors="replace").strip()[:_SHOWN_CHARACTERS] or str(error)
        raise Unreachable(PREFIX + name, Reason("llama.cpp did not report its port: {error}", error=output)) from error
    await process.exited(_EXIT_SECONDS)
    return None


def _explanation(process: ChildProcess, weights: Path) -> Reason:
    """Why a child exited before it was ready, with advice where there is any."""
    code, last = process.exit_code, _error_line(process.log)
    if code == EXIT_PACKAGE_MISSING:
        return Reason("llama.cpp is not installed: pip install xllamacpp")
    if code == EXIT_PACKAGE_BROKEN:
        if "libgomp" in last:
            return Reason("llama.cpp can't be loaded: {error} (install the system package libgomp1)", error=last)
        return Reason("llama.cpp can't be loaded: {error}", error=last)
    if code == -signal.SIGILL:
        return Reason(
            "this processor lacks instructions that the prebuilt llama.cpp needs (AVX2 on x86-64); "
            "build it here: pip install --force-reinstall --no-binary xllamacpp xllamacpp"
        )
    if code == -signal.SIGKILL or any(sign in process.log for sign in _NO_MEMORY):
        return Reason("not enough memory for {file}: free some, or use a smaller model", file=weights.name)
    ended = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    words = "llama.cpp ended with {ended} on {file}: {error}"
    return Reason(words, ended=ended, file=weights.name, error=last or "-")


def _error_line(text: str) -> str:
    """The first known error line of a log, else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        for sign in _ERROR_SIGNS:
            if sign in line:
                return line[line.index(sign) :]
    return lines[-1] if lines else ""
