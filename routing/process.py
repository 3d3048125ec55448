"""A child process in its own process group, which can be stopped with everything it started."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_POLL_SECONDS = 0.01
_PIPE_SECONDS = 0.5
"""Time to read the rest of a dead process's output. A grandchild outside its group may hold the pipes longer."""
_CHUNK = 65536
_LOG_BYTES = 16_384
_LOG_BYTES_PER_SECOND = 16_000_000
"""A process that floods its stderr is slowed down by its pipe."""
_WATCHDOG = """
read -r group || exit 0
read -r _
sleep "$1"
kill -s TERM -- "-$group"
sleep "$1"
kill -s KILL -- "-$group"
"""
"""Its stdin closes when this process dies for any reason. Then it stops the group with the same grace time as
`stop`."""


class ChildProcess:
    """A program with pipes for stdin and stdout. Created by `start`.

    A watchdog, a shell in its own session, stops the process group if this process is killed.
    """

    def __init__(self, process: Process, watchdog: Process, grace_seconds: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert watchdog.stdin is not None
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._process = process
        self._watchdog = watchdog
        self._grace_seconds = grace_seconds
        self._log = b""
        self._logging = asyncio.create_task(self._read_log())
        watchdog.stdin.write(f"{process.pid}\n".encode())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        line_bytes: int = _CHUNK,
        grace_seconds: float,
    ) -> ChildProcess:
        """Start `command` with exactly this environment. `line_bytes` limits `stdout.readuntil`; `grace_seconds` is the
        time to exit after stdin closes, and again after SIGTERM. Raises OSError."""
        watchdog = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _WATCHDOG, "watchdog", f"{grace_seconds:g}"),
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=DEVNULL,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            cwd="/",
            start_new_session=True,
        )
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=line_bytes,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
            )
        except BaseException:
            watchdog.kill()
            await watchdog.wait()
            raise
        return cls(process, watchdog, grace_seconds)

    @property
    def log(self) -> str:
        """The last 16 kB of stderr."""
        return self._log.decode(errors="replace")

    @property
    def ending(self) -> str:
        """How it ended, as a clause: "ended with exit code 1" or "was killed (SIGKILL)"."""
        code = self._process.returncode
        if code is not None and code < 0:
            return f"was killed ({signal.Signals(-code).name})"
        return f"ended with exit code {code}"

    async def exited(self, seconds: float) -> bool:
        """Wait at most `seconds` for the exit. `Process.wait` would also wait for grandchildren that hold its pipes."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self._process.returncode is None and loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        return self._process.returncode is not None

    async def stop(self) -> None:
        """Close stdin, send SIGTERM, then SIGKILL to the group, with the grace time after each."""
        self.stdin.close()
        draining = asyncio.create_task(_drain(self.stdout))  # a process blocked on writing could not exit
        if not await self.exited(self._grace_seconds):
            self._signal(signal.SIGTERM)
            await self.exited(self._grace_seconds)
        self._signal(signal.SIGKILL)
        await self.exited(self._grace_seconds)
        await asyncio.wait({draining, self._logging}, timeout=_PIPE_SECONDS)
        draining.cancel()
        self._logging.cancel()
        self._process._transport.close()  # type: ignore[attr-defined]  # nothing public closes pipes of grandchildren
        with suppress(ProcessLookupError):
            self._watchdog.kill()
        await self._watchdog.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._log = (self._log + chunk)[-_LOG_BYTES:]
            await asyncio.sleep(len(chunk) / _LOG_BYTES_PER_SECOND)


async def _drain(pipe: asyncio.StreamReader) -> None:
    while await pipe.read(_CHUNK):
        pass
