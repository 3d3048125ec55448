"""A turn that is stopped and cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from routing.types.stop import Stop, Stopped


async def begin(work: Callable[[], Awaitable[object]], stop: Stop) -> asyncio.Task[int]:
    """A turn that waits for `work`. Returns how many cancellations are left."""

    async def turn() -> int:
        with suppress(Stopped), stop.guard():
            await work()
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    task = asyncio.create_task(turn())
    await asyncio.sleep(0)
    return task


async def test_a_shutdown_while_a_stopped_tool_cleans_up_cancels_the_turn() -> None:
    cleaning_up = asyncio.Event()

    async def tool() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaning_up.set()
            await asyncio.Event().wait()

    stop = Stop()
    turn = await begin(tool, stop)
    stop.request()
    await cleaning_up.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_a_library_that_swallows_the_stop_leaves_no_cancellation_behind() -> None:
    async def library() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    stop = Stop()
    turn = await begin(library, stop)
    stop.request()
    assert await turn == 0
