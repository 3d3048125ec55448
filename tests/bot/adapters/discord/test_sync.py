"""Commands are registered as a whole, and only when they changed."""

from __future__ import annotations

import pytest

from bot.adapters.discord.sync import STATE_KEY, sync
from bot.adapters.discord.tree import tree
from handlers.commands import COMMANDS
from tests.bot.adapters.discord.asking import States, asking


async def test_they_are_registered_once_for_each_change() -> None:
    async with asking() as (dc, client):
        state, body, me = States(), tree(COMMANDS), dc.application_id
        dc.requests.clear()
        await sync(client.http, me, body, state)
        await sync(client.http, me, body, state)
        assert len(dc.calls("PUT")) == 1 and len(dc.commands) == len(COMMANDS)
        await sync(client.http, me, body[1:], state)
        assert len(dc.calls("PUT")) == 2 and len(dc.commands) == len(COMMANDS) - 1
        kept = state.kept[STATE_KEY]
        await sync(client.http, me + 1, body[1:], state)  # another bot's token: nothing is registered for that one yet
        assert len(dc.calls("PUT")) == 3 and dc.refusals and state.kept[STATE_KEY] == kept


async def test_a_failure_is_said_and_made_good_at_the_next_start(caplog: pytest.LogCaptureFixture) -> None:
    async with asking() as (dc, client):
        state, me = States(), dc.application_id
        dc.fault("PUT **", "refuse", status=403, code=50001)
        await sync(client.http, me, tree(COMMANDS), state)
        assert state.kept == {} and "the commands could not be registered" in caplog.text
        await sync(client.http, me, tree(COMMANDS), state)
        assert state.kept
