"""A server as a child of ours, with a clean environment, that never outlives its connection."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio

from handlers.tools.mcp.guard import Guard
from handlers.tools.mcp.limits import Limits
from handlers.tools.mcp.notes import Notes
from handlers.tools.mcp.servers import Command

_POLL_SECONDS = 0.01
_LAST_SECONDS = 0.1
"""Its pipes may end a moment before it."""


@asynccontextmanager
async def child(command: Command, limits: Limits, notes: Notes) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process, in a group of its own. It is asked to end by the end of its stdin, then told to, then killed with
    all of its group. Raises OSError when it can't be started."""
    guard = await Guard.stand(limits.end_seconds)
    try:
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(command.environment),
            cwd=command.folder,
            start_new_session=True,
        )
        guard.watch(process.pid)
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                if await _ended(process, _LAST_SECONDS) and not notes.reason:
                    notes.reason = _told(process.returncode)
                await _end(process, limits.end_seconds)
    finally:
        with anyio.CancelScope(shield=True):
            await guard.dismiss()


async def _end(process: asyncio.subprocess.Process, patience: float) -> None:
    assert process.stdin is not None
    process.stdin.close()
    draining = asyncio.create_task(_drain(process))  # a server that is stuck in writing could not end
    if not await _ended(process, patience):
        _signal(process.pid, signal.SIGTERM)
        await _ended(process, patience)
    _signal(process.pid, signal.SIGKILL)  # also what it left behind in its group
    await _ended(process, patience)
    draining.cancel()
    process._transport.close()  # type: ignore[attr-defined]  # nothing public closes pipes that a grandchild holds
    with suppress(asyncio.CancelledError):
        await draining


async def _drain(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None and process.stderr is not None
    await asyncio.gather(_empty(process.stdout), _empty(process.stderr))


async def _empty(pipe: asyncio.StreamReader) -> None:
    while await pipe.read(65536):
        pass


async def _ended(process: asyncio.subprocess.Process, patience: float) -> bool:
    """Whether it is gone in time. `wait()` would also wait for every grandchild that holds its pipes."""
    with anyio.move_on_after(patience):
        while process.returncode is None:  # noqa: ASYNC110
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _told(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was killed ({signal.Signals(-code).name})"
    return f"it ended with exit code {code}"
