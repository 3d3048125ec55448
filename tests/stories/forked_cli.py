"""The command line with pipes, forked from a process with the libraries loaded, which saves 3 s of CPU per start."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from tests.stories import preloaded

TIMEOUT_SECONDS = 60.0


class Forked:
    """A running process and our ends of its standard streams."""

    def __init__(
        self, process: preloaded.Process, stdin: int, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader
    ):
        self.stdout, self.stderr = stdout, stderr
        self._process = process
        self._stdin: int | None = stdin

    def write(self, data: bytes) -> None:
        """Writes to standard input."""
        assert self._stdin is not None
        os.write(self._stdin, data)

    def write_eof(self) -> None:
        """Closes standard input."""
        if self._stdin is not None:
            os.close(self._stdin)
        self._stdin = None

    def send_signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    async def ended(self, data: bytes = b"", *, close: bool = True) -> tuple[int, str, str]:
        """Writes `data`, closes standard input if `close`, and waits. Returns exit code, output left and errors."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            self.write(data)
            if close:
                self.write_eof()
            output, errors = await asyncio.gather(self.stdout.read(), self.stderr.read())
            code = await self.wait()
        return code, output.decode(), errors.decode()

    async def wait(self) -> int:
        """Waits for the exit code."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._process.sentinel, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    async def close(self) -> None:
        """Kills the process if it still runs."""
        if self._process.is_alive():
            self._process.kill()
        self.write_eof()
        await self.wait()


@asynccontextmanager
async def forked(*arguments: str, env: Mapping[str, str], closed_stdout: bool = False) -> AsyncIterator[Forked]:
    """`tierbot` with these arguments and this environment. `deaf`: stdout is a pipe without a reader."""
    (stdin, ours), (out, stdout), (err, stderr) = (Pipe(duplex=False) for _ in range(3))
    given = (arguments, dict(env), 0o022, (stdin, stdout, stderr))
    process = preloaded.forking.Process(target=preloaded.run, args=given)
    if closed_stdout:
        out.close()
    await asyncio.to_thread(process.start)
    for theirs in (stdin, stdout, stderr):
        theirs.close()
    streams = [asyncio.StreamReader() if closed_stdout else await _reader(out), await _reader(err)]
    if closed_stdout:
        streams[0].feed_eof()
    made = Forked(process, os.dup(ours.fileno()), *streams)
    ours.close()
    try:
        yield made
    finally:
        await made.close()


async def _reader(end: Connection) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    file = os.fdopen(os.dup(end.fileno()), "rb", buffering=0)
    end.close()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader
