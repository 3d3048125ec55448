"""Runs the program `worker` for one job, with limits on time and memory."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from routing.errors import ToolFailed
from routing.process import ChildProcess

PROGRAM = Path(__file__).with_name("worker.py")
MEMORY_BYTES = 2**30
MAX_ANSWER_BYTES = 16_000_000
AT_ONCE = 2
"""Jobs that run at the same time; others wait."""
_GRACE_SECONDS = 0.1
_ENVIRONMENT = {"PATH": os.defpath, "MALLOC_ARENA_MAX": "2"}
"""Nothing of ours: the job handles other people's data."""


class WorkerFailed(ToolFailed):
    """The job exceeded a limit or crashed."""


class WorkerProcess:
    """Starts a process per job, which takes about 0.2 s of CPU with its libraries."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, job: Mapping[str, object], document: bytes = b"", *, seconds: float) -> dict[str, Any]:
        """The answer to a job of `worker`, within `seconds`. Raises WorkerFailed."""
        limits = {"cpu_seconds": max(1, round(seconds)), "memory_bytes": MEMORY_BYTES}
        line = json.dumps({**job, **limits}).encode() + b"\n"
        try:
            async with self._free, asyncio.timeout(seconds):
                answer = await self._answer(line + document)
            found = json.loads(answer)
        except TimeoutError:
            raise WorkerFailed(f"could not be read within {seconds:g} s") from None
        except (OSError, ValueError):
            raise WorkerFailed("could not be read: it is damaged or too complex") from None
        assert isinstance(found, dict)
        return found

    async def _answer(self, given: bytes) -> bytes:
        command = (sys.executable, "-I", str(PROGRAM))
        process = await ChildProcess.start(command, grace_seconds=_GRACE_SECONDS, environment=_ENVIRONMENT)
        try:
            await process.write(given)
            process.stdin.close()
            found = bytearray()
            while (chunk := await process.stdout.read(65_536)) and len(found) <= MAX_ANSWER_BYTES:
                found += chunk
            return bytes(found)
        finally:
            await process.kill()
