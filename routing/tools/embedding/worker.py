"""Vectors from a model in a worker process: e5, or one of sentence-transformers."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from routing.backoff import exponential
from routing.errors import NO_REASON, PROGRAM_ENDING, EmbedderFailed, Reason, system_reason
from routing.ports import Clock
from routing.process import ChildProcess, Supervisor, Worker
from routing.tools.embedding.texts import FEW_TEXTS, answered
from routing.tools.embedding.worker_process import LOADER, REASON_CHARACTERS
from routing.types.vectors import Floats

_BATCH = 8
"""Texts per request, so that a message waits for at most one batch of bulk work: about 40 ms for a MiniLM."""
_GRACE_SECONDS = 1.0
_LINE_BYTES = 1 << 26
"""Maximum size of an answer: 8 rows of 1.5 million numbers."""
_EXIT_SECONDS = 5.0
"""The output of a process may end a moment before it does."""

log = logging.getLogger("routing.tools.embedding")


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a worker: model, function that loads it, interpreter command, and seconds to load the model
    (perhaps over the network) and to answer one request."""

    model: str
    loader: str = LOADER
    interpreter: tuple[str, ...] = (sys.executable,)
    load_seconds: float = 600.0
    answer_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class WorkerTimes:
    """`idle_seconds`: without a call until the process stops. `loading_seconds`: how long a message waits for the model
    to load; less than it waits for its vectors, so that it gets the reason. `retry_seconds`: until a failed start is
    retried, doubled each time up to `max_retry_seconds`."""

    idle_seconds: float = 300.0
    loading_seconds: float = 0.03
    retry_seconds: float = 1.0
    max_retry_seconds: float = 300.0


class EmbeddingProcess(Worker):
    """A worker process with a loaded model. Created by `start`."""

    def __init__(self, process: ChildProcess, launch: Launch) -> None:
        self.process = process
        self._launch = launch
        self._turn = asyncio.Lock()
        self._reason = NO_REASON

    @classmethod
    async def start(cls, launch: Launch) -> EmbeddingProcess:
        """Start a process and wait until its model is loaded. Raises EmbedderFailed with advice."""
        command = (*launch.interpreter, "-m", "routing.tools.embedding.worker_process", "--model", launch.model)
        try:
            process = await ChildProcess.start(
                (*command, "--loader", launch.loader), grace_seconds=_GRACE_SECONDS, line_bytes=_LINE_BYTES
            )
        except OSError as error:
            raise EmbedderFailed(
                "{model}: its process can't be started ({error})", model=launch.model, error=system_reason(error)
            ) from error
        worker, ready = cls(process, launch), False
        try:
            async with asyncio.timeout(launch.load_seconds):
                await worker._receive()
            ready = True
        except TimeoutError as error:
            raise EmbedderFailed(
                "{model} was not loaded within {seconds} s", model=launch.model, seconds=launch.load_seconds
            ) from error
        finally:
            if not ready:
                await process.kill()
        return worker

    @property
    def failure(self) -> EmbedderFailed:
        """Why the process exited. A new error for each caller."""
        return self._failed(self._reason or self._ending())

    async def ask(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """The answer to `texts`. A cancelled call is still watched for a hang. Raises EmbedderFailed."""
        return await asyncio.shield(asyncio.create_task(self._exchange(texts)))

    async def stop(self, reason: Reason = PROGRAM_ENDING) -> None:
        """Kill the process, which has nothing to save. Calls under way fail with `reason`."""
        if self.process.exit_code is None:
            self._reason = self._reason or reason
        await self.process.kill()

    async def _exchange(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """One request at a time, so that each answer belongs to the last request."""
        async with self._turn:
            seconds = self._launch.answer_seconds
            try:
                async with asyncio.timeout(seconds):
                    with suppress(ConnectionError):  # then it answers nothing
                        await self.process.write(json.dumps({"texts": list(texts)}).encode() + b"\n")
                    return await self._receive()
            except TimeoutError:
                await self.stop(Reason("no answer within {seconds} s", seconds=seconds))
                raise self.failure from None

    async def _receive(self) -> Mapping[str, Any]:
        """The next message. Raises EmbedderFailed if the process exits, fails or sends anything else."""
        try:
            line = await self.process.stdout.readline()
            message: dict[str, Any] | None = json.loads(line) if line else None
            if line and not isinstance(message, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            await self.stop(Reason("its process sent something other than vectors ({error})", error=error))
            message = None
        if message is None:
            await self.process.exited(_EXIT_SECONDS)
            await self.process.kill()
            raise self.failure
        if "failed" in message:
            raise self._failed(message["failed"])
        return message

    def _ending(self) -> Reason:
        code = self.process.exit_code
        if code == -signal.SIGKILL:
            return Reason("its process was killed, probably because memory ran out")
        lines = [line.strip() for line in self.process.log.splitlines() if line.strip()]
        last = lines[-1][:REASON_CHARACTERS] if lines else Reason("no output")
        return Reason("its process {ended}: {output}", ended=self.process.ending, output=last)

    def _failed(self, reason: object) -> EmbedderFailed:
        return EmbedderFailed("{model}: {reason}", model=self._launch.model, reason=reason)


class WorkerEmbedder:
    """Implements `Embedder`. The process starts on the first call and stops when idle. While the model loads (seconds),
    messages fail at once and bulk work waits. After a crash, calls under way fail and the process restarts at once; if
    it fails again before it has answered, it restarts on a later call."""

    def __init__(self, name: str, launch: Launch, clock: Clock, times: WorkerTimes | None = None) -> None:
        self.name = name
        self._launch = launch
        self._clock = clock
        self._times = times or WorkerTimes()
        start = partial(EmbeddingProcess.start, launch)
        self._supervisor = Supervisor(f"[Embedding] {name}", start, self._times.idle_seconds, self._crashed)
        self._failures = 0
        self._retry_at = 0.0
        self._last_failure = ""

    @property
    def pid(self) -> int | None:
        """The process id while a model is loaded."""
        worker = self._supervisor.worker
        return worker.process.pid if worker else None

    async def embed(self, texts: Sequence[str]) -> Floats:
        """See the port. Up to FEW_TEXTS are a message, which does not wait for a model to load."""
        return await answered(texts, partial(self._ask, hurried=len(texts) <= FEW_TEXTS))

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """Always None: vectors come from another process."""
        return None

    async def close(self) -> None:
        """Stop the process, also one that is still loading."""
        await self._supervisor.close()

    async def _ask(self, texts: Sequence[str], hurried: bool) -> Floats:
        from routing.tools.embedding.rows import joined, received, unit

        answers: list[Mapping[str, Any]] = []
        with self._supervisor.in_use():
            for start in range(0, len(texts), _BATCH):
                worker = await self._ready(hurried)
                answers.append(await worker.ask(texts[start : start + _BATCH]))
                self._failures = 0
        try:
            parts = [received(b64decode(each["data"]), each["rows"], each["width"]) for each in answers]
            return unit(joined(parts), len(texts))
        except (KeyError, TypeError, ValueError) as error:
            raise EmbedderFailed("{model}: its process sent {error}", model=self._launch.model, error=error) from error

    async def _ready(self, hurried: bool) -> EmbeddingProcess:
        ending = EmbedderFailed("{model}: {reason}", model=self._launch.model, reason=PROGRAM_ENDING)
        if self._supervisor.closed:
            raise ending
        if self._supervisor.worker is not None:
            return self._supervisor.worker
        starting = self._start()
        await asyncio.wait([starting], timeout=self._times.loading_seconds if hurried else None)
        if not starting.done():
            raise EmbedderFailed("{model} is still loading", model=self._launch.model)
        if starting.cancelled():
            raise ending
        return starting.result()

    def _start(self) -> asyncio.Task[EmbeddingProcess]:
        """Raises EmbedderFailed if the last failure was too recent."""
        self._supervisor.reap()
        starting = self._supervisor.starting
        if starting is not None:
            return starting
        wait = self._retry_at - self._clock()
        if self._failures > 1 and wait > 0:
            raise EmbedderFailed(
                "{failure}; trying again in {seconds} s", failure=self._last_failure, seconds=round(wait)
            )
        starting = self._supervisor.start()
        starting.add_done_callback(self._started)
        return starting

    def _started(self, starting: asyncio.Task[EmbeddingProcess]) -> None:
        if not starting.cancelled() and (error := starting.exception()) is not None:
            self._note(error, max(2, self._failures + 1))

    def _crashed(self, worker: EmbeddingProcess) -> None:
        self._note(worker.failure, self._failures + 1)
        with suppress(EmbedderFailed):
            self._start()

    def _note(self, error: BaseException, failures: int) -> None:
        """The first crash of a loaded process is followed by an immediate restart."""
        self._failures, self._last_failure = (
            failures,
            error.reason if isinstance(error, EmbedderFailed) else type(error).__name__,
        )
        self._retry_at = self._clock() + exponential(
            max(1, failures - 1), self._times.retry_seconds, self._times.max_retry_seconds
        )
        log.warning("[Embedding] %s", error)
