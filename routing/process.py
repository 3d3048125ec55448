"""Child processes: started in their own process group, stopped with everything they started, and supervised."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from routing.errors import Reason
from routing.watchdog import Watchdog

ROOT = Path(__file__).resolve().parents[1]
"""The working folder of `python -m` commands that run a module of this project."""
_KILL_SECONDS = 5.0
"""Time for the system to remove a killed process."""
_PIPE_SECONDS = 0.5
"""Time to read the rest of a dead process's output. A grandchild outside its group may hold the pipes longer."""
_CHUNK = 65536
_LOG_BYTES = 16_384
_LOG_BYTES_PER_SECOND = 16_000_000
"""A process that floods its stderr is slowed down by its pipe."""
_STOP_GROUP = """
[ -n "$last" ] || exit
sleep "$1"
kill -s TERM -- "-$last"
sleep "$1"
kill -s KILL -- "-$last"
"""
"""The same grace times as in `stop`."""

log = logging.getLogger("routing.process")


def close_descriptors_on_exec() -> None:
    """Let no program that is started from now on inherit a descriptor of this process, except the standard ones and
    those passed to it. uvloop passes on all that are inheritable, even with `close_fds`."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with suppress(OSError):  # the listing's own
                os.set_inheritable(int(name), False)


class _Protocol(SubprocessStreamProtocol):
    """Signals the exit of the process, also if a grandchild holds its pipes. `Process.wait` would wait for those."""

    def __init__(self, line_bytes: int) -> None:
        super().__init__(line_bytes, asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class ChildProcess:
    """A program with pipes for stdin and stdout. Created by `start`.

    A watchdog stops the process group if this process is killed.
    """

    def __init__(
        self, transport: asyncio.SubprocessTransport, protocol: _Protocol, watchdog: Watchdog, grace_seconds: float
    ) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        self.stdin = protocol.stdin
        self.stdout = protocol.stdout
        self._transport = transport
        self._protocol = protocol
        self._watchdog = watchdog
        self._grace_seconds = grace_seconds
        self._stopping = False
        self._log = b""
        self._logging = asyncio.create_task(self._read_log())
        watchdog.send(str(self.pid))

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        grace_seconds: float,
        environment: Mapping[str, str] | None = None,
        folder: Path = ROOT,
        line_bytes: int = _CHUNK,
    ) -> ChildProcess:
        """Start `command` with exactly this environment, by default with ours. `line_bytes` limits `stdout.readuntil`;
        `grace_seconds` is the time to exit after stdin closes, and again after SIGTERM. Raises OSError; a
        FileNotFoundError names the missing program or folder."""
        await asyncio.to_thread(close_descriptors_on_exec)
        watchdog = await asyncio.to_thread(Watchdog, "watchdog", _STOP_GROUP, f"{grace_seconds:g}")
        try:
            transport, protocol = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Protocol(line_bytes),
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=None if environment is None else dict(environment),
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError, asyncio.CancelledError) as error:
            await asyncio.to_thread(watchdog.close)
            if isinstance(error, FileNotFoundError):  # uvloop names nothing
                error.filename = error.filename or _missing(command[0], folder)
            raise
        return cls(transport, protocol, watchdog, grace_seconds)

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._transport.get_returncode()

    @property
    def running(self) -> bool:
        """False once it has exited or is being stopped."""
        return self.exit_code is None and not self._stopping

    @property
    def log(self) -> str:
        """The last 16 kB of stderr."""
        return self._log.decode(errors="replace")

    @property
    def ending(self) -> Reason:
        """How it ended, as a clause: "ended with exit code 1" or "was killed (SIGKILL)"."""
        code = self.exit_code
        if code is not None and code < 0:
            named = -code in signal.Signals.__members__.values()  # real-time signals have no names
            return Reason("was killed ({signal})", signal=signal.Signals(-code).name if named else f"signal {-code}")
        return Reason("ended with exit code {code}", code=str(code))

    async def exited(self, seconds: float) -> bool:
        """Wait at most `seconds` for the exit; False if it still runs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wait()
        return self.exit_code is not None

    async def wait(self) -> None:
        await self._protocol.exited.wait()

    async def write(self, data: bytes) -> None:
        """Write to stdin. Raises ConnectionError once the process has closed it."""
        try:
            self.stdin.write(data)
        except RuntimeError as error:  # uvloop's, if it has noticed already
            raise BrokenPipeError(str(error)) from None
        await self.stdin.drain()

    async def stop(self) -> None:
        """Close stdin, send SIGTERM, then SIGKILL to the group, with the grace time after each."""
        self._stopping = True
        self.stdin.close()
        draining = asyncio.create_task(_drain(self.stdout))  # a process blocked on writing could not exit
        if not await self.exited(self._grace_seconds):
            self._signal(signal.SIGTERM)
            await self.exited(self._grace_seconds)
        draining.cancel()
        await self.kill()

    async def kill(self) -> None:
        """Send SIGKILL to the group and wait until the process is gone and its stderr is read."""
        self._stopping = True
        self._signal(signal.SIGKILL)
        await self.exited(_KILL_SECONDS)
        await asyncio.wait({self._logging}, timeout=_PIPE_SECONDS)
        self._logging.cancel()
        self._transport.close()  # also the pipes that grandchildren hold
        await asyncio.to_thread(self._watchdog.close)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def _read_log(self) -> None:
        assert self._protocol.stderr is not None
        while chunk := await self._protocol.stderr.read(_CHUNK):
            self._log = (self._log + chunk)[-_LOG_BYTES:]
            await asyncio.sleep(len(chunk) / _LOG_BYTES_PER_SECOND)


def _missing(program: str, folder: Path) -> str:
    """What a process could not be started for."""
    return program if folder.is_dir() else str(folder)


async def _drain(pipe: asyncio.StreamReader) -> None:
    while await pipe.read(_CHUNK):
        pass


class Worker(ABC):
    """Base class of a child process that is ready for use."""

    __slots__ = ()
    process: ChildProcess

    @abstractmethod
    async def stop(self) -> None:
        """Stop the process. Calls under way fail."""


W = TypeVar("W", bound=Worker)


class Supervisor(Generic[W]):
    """Runs at most one worker: starts it on first use, replaces it after a crash and stops it when idle."""

    def __init__(
        self,
        name: str,
        start: Callable[[], Awaitable[W]],
        idle_seconds: float,
        crashed: Callable[[W], None],
    ) -> None:
        """`name` is for the log. `crashed` is called once for each worker that exits or stops by itself."""
        self.closed = False
        self.starting: asyncio.Task[W] | None = None
        self._name = name
        self._start_worker = start
        self._idle_seconds = idle_seconds
        self._crashed = crashed
        self._worker: W | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._users = 0

    @property
    def worker(self) -> W | None:
        return self._worker if self._worker is not None and self._worker.process.running else None

    async def ready(self) -> W:
        """The running worker, or a new one. Concurrent callers share a start, which continues when a caller is
        cancelled. Raises what the start raises; CancelledError if `close` interrupts it."""
        self.reap()
        worker = self.worker
        if worker is None:
            worker = await asyncio.shield(self.start())
        self._restart_idle_timer()
        return worker

    def start(self) -> asyncio.Task[W]:
        """The start under way, or a new one."""
        if self.starting is None:
            self.starting = asyncio.create_task(self._start())
            self.starting.add_done_callback(self._started)
        return self.starting

    def reap(self) -> None:
        """Clean up after a worker that has exited or was stopped by itself."""
        if self._worker is not None and self.worker is None and not self.closed:
            worker = self._worker
            self._discard()
            self._crashed(worker)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the worker running; the idle time starts at the end."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._restart_idle_timer()

    async def close(self) -> None:
        """Stop the worker, also one that is still starting."""
        self.closed = True
        if self._idle is not None:
            self._idle.cancel()
        if self.starting is not None:
            self.starting.cancel()
            await asyncio.gather(self.starting, return_exceptions=True)
        self._discard()
        await asyncio.gather(*self._tasks)

    async def _start(self) -> W:
        loop = asyncio.get_running_loop()
        began = loop.time()
        worker = await self._start_worker()
        log.info("%s loaded, process %d, %.1f s", self._name, worker.process.pid, loop.time() - began)
        return worker

    def _started(self, start: asyncio.Task[W]) -> None:
        self.starting = None
        if start.cancelled() or start.exception() is not None:
            return
        self._worker = start.result()
        self._spawn(self._watch(self._worker))
        self._restart_idle_timer()

    async def _watch(self, worker: W) -> None:
        await worker.process.wait()
        if worker is self._worker:
            self.reap()

    def _restart_idle_timer(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self._worker is not None and not self.closed:
            self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._unload)

    def _unload(self) -> None:
        if not self._users and self.worker is not None:
            log.info("%s unloaded after %.0f s without use", self._name, self._idle_seconds)
            self._discard()

    def _discard(self) -> None:
        """Remove the worker before the first await, so that no caller gets one that is stopping."""
        if self._worker is not None:
            self._spawn(self._worker.stop())
            self._worker = None

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
