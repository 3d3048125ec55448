"""Runs local models, each in a child process that starts on first use and stops when idle."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from routing.errors import Reason, Unreachable
from routing.llm.local.process import Launch, LocalAddress, LocalServer
from routing.llm.local.weights import PREFIX, available, find
from routing.ports import Clock

__all__ = ["LocalAddress", "LocalRuntime", "RunningModel", "available"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A loaded model and its process id, for /status."""

    name: str
    pid: int


class LocalRuntime:
    """Starts and stops the processes of local models, one per file."""

    def __init__(
        self,
        models_folder: Path,
        clock: Clock,
        idle_seconds: float = 600.0,
        *,
        check_seconds: float = 15.0,
        launch: Launch | None = None,
    ) -> None:
        self._models_folder = models_folder
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._check_seconds = check_seconds
        self._launch = launch or Launch()
        self._servers: dict[Path, LocalServer] = {}
        self._starts: dict[Path, asyncio.Task[LocalServer]] = {}
        self._watch: asyncio.Task[None] | None = None
        self._users = 0
        self._closing = asyncio.Event()

    async def address(self, model: str) -> LocalAddress:
        """Return the address of `model` (with or without `local/`); start or restart its process if needed.

        Concurrent callers share one start, which continues when a caller is cancelled. Raises ModelUnknown (no such
        file, or not a GGUF) or Unreachable (the process failed to start; the reason contains advice).
        """
        weights = await asyncio.to_thread(find, model, self._models_folder)
        if self._closing.is_set():
            raise Unreachable(PREFIX + model.removeprefix(PREFIX), Reason("the bot is stopping"))
        server = self._servers.get(weights)
        if server is None or not server.running:
            if weights not in self._starts:
                name = model.removeprefix(PREFIX)
                self._begin(weights.stem if name.startswith("/") else name, weights)
            server = await asyncio.shield(self._starts[weights])
        server.last_used = self._clock()
        return server.address

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the models loaded while an answer is generated; the idle time starts at the end."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            for server in self._servers.values():
                server.last_used = self._clock()

    def running(self) -> tuple[RunningModel, ...]:
        """The currently loaded models."""
        servers = self._servers.values()
        return tuple(RunningModel(server.address.model_name, server.pid) for server in servers if server.running)

    async def close(self) -> None:
        """Stop every child, also those still loading. Afterwards `address` raises Unreachable."""
        self._closing.set()
        for start in self._starts.values():
            start.cancel()
        tasks = [*self._starts.values(), *([self._watch] if self._watch else [])]
        await asyncio.gather(*tasks, return_exceptions=True)
        servers = tuple(self._servers.values())
        self._servers.clear()
        await asyncio.gather(*(server.close() for server in servers))

    def _begin(self, name: str, weights: Path) -> None:
        task = asyncio.create_task(self._start(name, weights))
        self._starts[weights] = task
        task.add_done_callback(lambda done: self._begun(weights, done))

    def _begun(self, weights: Path, task: asyncio.Task[LocalServer]) -> None:
        del self._starts[weights]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("[Local] %s", error)

    async def _start(self, name: str, weights: Path) -> LocalServer:
        if (dead := self._servers.pop(weights, None)) is not None:
            _log.warning("[Local] %s ended unexpectedly; restarting it", name)
            await dead.close()
        began = self._clock()
        server = await LocalServer.start(name, weights, self._launch)
        server.last_used = self._clock()
        self._servers[weights] = server
        _log.info("[Local] Loaded %s, process %d, %.1f s", name, server.pid, server.last_used - began)
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watch_idle())
        return server

    async def _watch_idle(self) -> None:
        """Stop idle models; return when none is left. The next start calls it again."""
        while self._servers and not self._closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._check_seconds):
                    await self._closing.wait()
            await self._stop_idle()

    async def _stop_idle(self) -> None:
        if self._users:
            return
        limit = self._clock() - self._idle_seconds
        idle = {weights: server for weights, server in self._servers.items() if server.last_used <= limit}
        for weights in idle:
            # Removed before the first await, so that no caller gets the address of a stopping process.
            del self._servers[weights]
        for server in idle.values():
            await server.close()
            _log.info("[Local] Unloaded idle model %s", server.address.model_name)
