"""How often, and for how long, an interaction on the loopback Discord can be answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord
import pytest

from tests.servers.discord import DiscordServer, Interaction
from tests.servers.discord.sdk import Client, raw, running

Asked = discord.Interaction[Any]


class Held(Client):
    """Keeps interactions instead of answering them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []

    async def on_interaction(self, asked: Asked) -> None:
        self.asked.append(asked)
        self.changed.set()


@asynccontextmanager
async def holding() -> AsyncIterator[tuple[DiscordServer, Held, Interaction, Asked]]:
    """An unanswered interaction."""
    async with DiscordServer() as dc:
        dc.guild()
        async with raw(dc) as http:
            body = {"name": "ask", "description": "Asks.", "integration_types": [0, 1], "contexts": [0, 1, 2]}
            assert (await http.call(f"POST /applications/{dc.bot.id}/commands", body))[0] == 201
        client = Held()
        vars(client.tree)["interaction_check"] = _never
        async with running(dc, client):
            asked = dc.slash("ask", where=dc.private_channel())
            await client.until(lambda: client.asked)
            yield dc, client, asked, client.asked[0]
        assert dc.violations == []


async def _never(_: Asked) -> bool:
    return False


async def test_an_interaction_is_answered_once() -> None:
    async with holding() as (_, _, asked, seen):
        with pytest.raises(discord.NotFound, match="10015"):
            await seen.followup.send("too early")
        await seen.response.send_message("one")
        seen.response._response_type = None
        with pytest.raises(discord.HTTPException, match="40060"):
            await seen.response.send_message("two")
        assert [message.text for message in asked.answers] == ["one"]
        original = await seen.original_response()
        await original.edit(content="edited")
        await seen.delete_original_response()
        assert asked.message is not None
        assert asked.message.deleted
        assert asked.message.text == "edited"
        with pytest.raises(discord.NotFound, match="10008"):
            await seen.edit_original_response(content="x")


async def test_an_interaction_is_unknown_after_its_limit() -> None:
    async with holding() as (dc, _, asked, seen):
        dc.advance(60.1)
        with pytest.raises(discord.NotFound, match="10062"):
            await seen.response.defer()
        assert asked.response is None


async def test_a_token_is_valid_for_15_minutes() -> None:
    async with holding() as (dc, _, asked, seen):
        await seen.response.defer(ephemeral=True)
        with pytest.raises(AssertionError, match="not true within"):
            await dc.reply(asked, timeout=0.01)
        dc.advance(600)
        await seen.followup.send("in time")
        dc.advance(301)
        for late in (seen.followup.send("late"), seen.edit_original_response(content="late")):
            with pytest.raises(discord.HTTPException, match="50027") as refused:
                await late
            assert refused.value.status == 401
        assert [message.text for message in asked.answers] == ["in time"]
        assert asked.ephemeral


async def test_a_user_install_allows_five_follow_ups() -> None:
    async with holding() as (_dc, _, asked, seen):
        await seen.response.send_message("first")
        for number in range(5):
            await seen.followup.send(str(number))
        with pytest.raises(discord.HTTPException, match="40094"):
            await seen.followup.send("one too many")
        assert len(asked.followups) == 5
        assert [message.channel.has_bot for message in asked.answers] == [False] * 6


async def test_a_redelivered_interaction_is_the_same_one() -> None:
    async with holding() as (dc, client, asked, seen):
        dc.redeliver(asked)
        await client.until(lambda: len(client.asked) == 2)
        assert client.asked[1].id == seen.id
        results = await asyncio.gather(*(one.response.defer() for one in client.asked), return_exceptions=True)
        assert [type(result) for result in results].count(discord.HTTPException) == 1
