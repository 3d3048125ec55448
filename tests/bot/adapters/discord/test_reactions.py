"""Reactions that are ratings, in every kind of channel."""

from __future__ import annotations

import pytest

from bot.adapters.discord.messages import BotIdentity, is_rating
from routing.types.messages import UserKey
from tests.bot.adapters.discord.client import key, to
from tests.bot.adapters.discord.harness import DiscordHarness
from tests.servers.discord import Channel, DiscordServer, Message

ME, ANN = 1, 5
Json = dict[str, object]


@pytest.mark.parametrize(
    ("change", "is_meant"),
    [
        ({}, True),
        ({"emoji": {"id": None, "name": "👎🏿"}}, True),
        ({"emoji": {"id": None, "name": "👍️"}}, True),
        ({"emoji": {"id": None, "name": "🔥"}}, False),
        ({"emoji": {"id": "77", "name": "👍"}}, False),
        ({"emoji": {"id": "77", "name": None}}, False),
        ({"message_author_id": "9"}, False),
        ({"message_author_id": None}, True),
        ({"user_id": str(ME)}, False),
    ],
)
def test_a_thumb_on_the_bots_message_is_a_rating(change: Json, is_meant: bool) -> None:
    payload: Json = {"user_id": str(ANN), "channel_id": "3", "message_id": "4", "message_author_id": str(ME)}
    assert is_rating(payload | {"emoji": {"id": None, "name": "👍"}} | change, BotIdentity(ME, "tierbot")) == is_meant


async def answered(dc: DiscordServer, where: Channel, number: int) -> Message:
    return next(message for message in where.from_bot() if message.text == f"answer {number}")


async def test_reactions_come_from_private_channels_servers_and_threads(
    dc: DiscordServer, harness: DiscordHarness
) -> None:
    dc.guild()
    where = [dc.dm(), dc.channel("general"), dc.thread("plans")]
    for number, channel in enumerate(where):
        await harness.send(to(channel, f"answer {number}"), outbox_id=number)
        reply = await answered(dc, channel, number)
        dc.react(reply, "🔥")
        dc.react(reply, "👍🏽")
        dc.unreact(reply, "👍🏽")
        await harness.texts(2 * number + 2)
        put, taken = harness.accepted[-2:]
        assert [(each.kind, each.text, each.removed) for each in (put, taken)] == [
            ("reaction", "👍", False),
            ("reaction", "👍", True),
        ]
        assert {each.message_id for each in (put, taken)} == {str(reply.id)}
        assert {each.chat for each in (put, taken)} == {key(channel)}
        assert put.user == UserKey("discord", "1001")
        assert put.private == channel.is_dm
        assert put.update_id != taken.update_id


async def test_reactions_to_other_peoples_messages_are_ignored(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.guild()
    dc.react(dc.say("not for you", channel="general"), "👍", user="Bob")
    await harness.received(dc.say("last"))
    assert await harness.texts(1) == ["last"]


async def test_a_reaction_is_stored_despite_failures_and_joins_no_thread(
    dc: DiscordServer, harness: DiscordHarness
) -> None:
    thread = dc.thread("plans")
    message = dc.say("among us", thread=thread)
    harness.failures = 2
    dc.react(message, "👍")
    dc.unreact(message, "👍")
    await harness.texts(1)
    assert [(each.text, each.removed) for each in harness.accepted] == [("👍", True)], (
        "whose message it was is not said any more"
    )
    dc.say("still among us", thread=thread)
    await harness.received(dc.say("last"))
    assert [each.text for each in harness.accepted] == ["👍", "last"]
