"""The watchdog of a receive loop."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.shared.connection import ReceiveLoop
from bot.adapters.shared.descriptor import CommonPace
from bot.platform import Progress


class Loop(ReceiveLoop):
    """A loop that ends by script; records runs and renewals."""

    def __init__(self, *endings: BaseException) -> None:
        super().__init__("Test", Progress(), CommonPace(watch=0.001), asyncio.get_running_loop().time)
        self.endings = list(endings)
        self.noted: list[str] = []
        self.endless = asyncio.Event()

    async def _receive(self) -> None:
        self.noted.append("receive")
        if self.endings:
            raise self.endings.pop(0)
        self.endless.set()
        await asyncio.Event().wait()

    async def _renew(self) -> None:
        self.noted.append("renew")

    async def stop(self) -> None:
        assert self._watchdog is not None
        assert self._task is not None
        for task in (self._watchdog, self._task):
            task.cancel()
            await asyncio.wait({task})


@pytest.mark.parametrize("ending", [ValueError("unexpected"), asyncio.CancelledError()])
async def test_a_finished_loop_is_restarted(ending: BaseException) -> None:
    loop = Loop(ending)
    loop._begin()
    async with asyncio.timeout(60):
        await loop.endless.wait()
    assert loop.noted == ["receive", "renew", "receive"]
    await loop.stop()
