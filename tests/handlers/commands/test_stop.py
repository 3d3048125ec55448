"""/stop is over when the turn is, so that a kill in between leaves both, and the turn is stopped again."""

from __future__ import annotations

import asyncio

from handlers.commands.stop import StopCommand
from handlers.running import RunningTurns
from routing.stop import Stop
from tests.handlers.asked import asked


async def test_stop_waits_until_what_came_of_the_turn_is_kept() -> None:
    running, stop = RunningTurns(), Stop()
    ask = asked("/stop")
    with running.enter(ask.message.chat, stop, ask.message.user):
        stopping = asyncio.create_task(StopCommand(running)(ask))
        while not stop.requested:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not stopping.done()
    assert (await stopping).text == ""
