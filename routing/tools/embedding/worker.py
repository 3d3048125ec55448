"""Vectors from a model of sentence-transformers, in a process that starts at the first need and ends when idle."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from routing.errors import EmbedderFailed
from routing.ports import Clock
from routing.tools.embedding.child import Child, Launch
from routing.tools.embedding.texts import FEW_TEXTS, answered

if TYPE_CHECKING:
    from routing.types.vectors import Floats

_BATCH = 8
"""Texts asked for at once: a message waits behind one batch at most, about 40 ms of a MiniLM."""
_MOST_DOUBLINGS = 10

log = logging.getLogger("routing.tools.embedding")


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: without a call until the process ends, that a message waits for a model to load (less than it waits for
    its vectors, so that it hears why there are none), until a start is tried again (doubled each time, up to the
    longest)."""

    idle: float = 300.0
    loading: float = 0.03
    again: float = 1.0
    longest: float = 300.0


class WorkerEmbedder:
    """`Embedder`. Nothing runs before it is asked for. While the model loads (seconds), a message is told so and bulk
    waits. A process that ends by itself fails the calls under way, and another is started at once, for it was in use
    (an idle one is ended); one that fails again before it has answered is left alone for a while, until a call."""

    def __init__(self, name: str, launch: Launch, clock: Clock, patience: Patience | None = None) -> None:
        self.name = name
        self._launch = launch
        self._clock = clock
        self._patience = patience or Patience()
        self._child: Child | None = None
        self._starting: asyncio.Task[Child] | None = None
        self._ends: set[asyncio.Task[None]] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._users = 0
        self._failures = 0
        self._again = 0.0
        self._last = ""
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, while there is one with a loaded model."""
        return self._child.pid if self._child is not None and self._child.running else None

    async def embed(self, texts: Sequence[str]) -> Floats:
        """As the port says. Up to FEW_TEXTS are a message, which does not wait for a model to load."""
        return await answered(texts, partial(self._ask, hurried=len(texts) <= FEW_TEXTS))

    async def _ask(self, texts: Sequence[str], hurried: bool) -> Floats:
        from routing.tools.embedding.rows import joined, received, unit

        parts: list[tuple[bytes, Any, Any]] = []
        with self._in_use():
            for start in range(0, len(texts), _BATCH):
                child = await self._ready(hurried)
                frame = await child.ask(texts[start : start + _BATCH])
                self._failures = 0
                parts.append((frame.body, frame.header.get("rows"), frame.header.get("width")))
        try:
            return unit(joined([received(*part) for part in parts]), len(texts))
        except (TypeError, ValueError) as error:
            raise EmbedderFailed(f"{self._launch.model}: its process sent {error}") from error

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """Never."""
        return None

    async def close(self) -> None:
        """End the process, also one that is still loading."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        self._put_down()
        await asyncio.gather(*self._ends)

    async def _ready(self, hurried: bool) -> Child:
        if self._closed:
            raise EmbedderFailed(f"{self._launch.model}: the program is ending")
        if self._child is not None and self._child.running:
            return self._child
        starting = self._starting or self._begin()
        await asyncio.wait([starting], timeout=self._patience.loading if hurried else None)
        if not starting.done():
            raise EmbedderFailed(f"{self._launch.model} is still loading")
        if starting.cancelled():
            raise EmbedderFailed(f"{self._launch.model}: the program is ending")
        return starting.result()

    def _begin(self) -> asyncio.Task[Child]:
        """Raises EmbedderFailed when the last start is too near."""
        if self._child is not None:
            self._failed(self._child.why, self._failures + 1)
            self._put_down()
        wait = self._again - self._clock()
        if self._failures > 1 and wait > 0:
            raise EmbedderFailed(f"{self._last}; trying again in {wait:.0f} s")
        self._starting = asyncio.create_task(self._start())
        self._starting.add_done_callback(self._started)
        return self._starting

    async def _start(self) -> Child:
        began = self._clock()
        child = await Child.start(self._launch)
        log.info("[Embedding] Loaded %s, process %d, %.1f s", self.name, child.pid, self._clock() - began)
        return child

    def _started(self, task: asyncio.Task[Child]) -> None:
        self._starting = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._failed(error, max(2, self._failures + 1))
            return
        self._child = child = task.result()
        child.on_end(partial(self._ended, child))
        self._rest()

    def _ended(self, child: Child) -> None:
        """Start another, unless this one was put down, or a call has done so already."""
        if child is self._child and not self._closed:
            with suppress(EmbedderFailed):
                self._begin()

    def _failed(self, error: BaseException, failures: int) -> None:
        """The first end of a process that had loaded is forgiven: it is started again at once."""
        self._failures, self._last = failures, str(error)
        pause = self._patience.again * 2 ** min(max(0, failures - 2), _MOST_DOUBLINGS)
        self._again = self._clock() + min(pause, self._patience.longest)
        log.warning("[Embedding] %s", error)

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._rest()

    def _rest(self) -> None:
        """Count the seconds without a call from here."""
        if self._idle is not None:
            self._idle.cancel()
        if self._child is not None and not self._closed:
            self._idle = asyncio.get_running_loop().call_later(self._patience.idle, self._unload)

    def _unload(self) -> None:
        if not self._users and self._child is not None and self._child.running:
            log.info("[Embedding] Unloaded idle model %s", self.name)
            self._put_down()

    def _put_down(self) -> None:
        """Out of reach before the first await: nobody is handed a process that ends."""
        if self._child is not None:
            task = asyncio.create_task(self._child.end())
            self._ends.add(task)
            task.add_done_callback(self._ends.discard)
            self._child = None
