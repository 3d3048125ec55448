"""Messages sent while the bot was offline, or where it was unknown, are answered once."""

from __future__ import annotations

import pytest

from tests.servers.discord import DiscordServer
from tests.stories.discord_bot import hurried, mention, texts, up
from tests.stories.harness import BotHarness, running, settled

pytestmark = pytest.mark.usefixtures("open_access")

__all__ = ["hurried"]
HISTORY = "/channels/{channel_id}/messages"


async def test_a_missed_mention_gets_its_thread(on: BotHarness, dc: DiscordServer) -> None:
    on.env["DISCORD_THREADS"] = "true"
    async with running(on) as app:
        await up(dc, app)
        message = dc.say("first", channel="general", mention=True)
        await dc.wait_for(lambda _: message.thread and texts(message.thread))
        await settled(on)
    missed = dc.say("missed", channel="general", mention=True)
    dc.say("among us", channel="general")
    async with running(on) as app:
        await up(dc, app)
        await dc.wait_for(lambda _: missed.thread and texts(missed.thread) == ["You said: missed"])
        await settled(on)
    assert texts(dc.channel()) == []
    assert len(on.ms.calls) == 2


@pytest.mark.usefixtures("hurried")
async def test_a_first_mention_in_a_channel_is_found_after_an_invalid_session(
    on: BotHarness, dc: DiscordServer
) -> None:
    dc.forbid(dc.channel("secret"), "read_message_history")
    dc.channel("quiet")
    async with running(on) as app:
        await up(dc, app)
        await dc.reply(dc.say("before"))
        dc.invalidate()
        missed = dc.say("first here", channel="general", mention=True)
        dc.say("and here", channel="secret", mention=True)
        assert (await dc.reply(missed, after=missed)).text == "You said: first here"
        await settled(on)
    asked = {call.path.split("/")[2] for call in dc.calls("GET", HISTORY)}
    assert asked == {str(dc.dm().id), str(dc.channel().id)}, "only channels with something new are read"


@pytest.mark.usefixtures("hurried")
async def test_each_connections_missed_messages_are_fetched(on: BotHarness, dc: DiscordServer) -> None:
    on.env["DISCORD_SHARDED"] = "true"
    dc.shards = 2
    second = dc.guild(3 << 22 | 1)  # its events arrive on connection 1
    async with running(on) as app:
        await dc.wait_for(lambda _: sum(session.is_connected for session in dc.sessions) == 2)
        await up(dc, app)
        thread = dc.thread("aside", dc.say("topic", guild=second))
        await dc.reply(dc.say("one", thread=thread, mention=True))
        (session,) = (session for session in dc.sessions if session.shard == (1, 2))
        assert session.connection is not None
        session.ended = True
        session.connection.put(9, False)
        missed = dc.say("two", thread=thread)
        between = dc.say("private")
        await dc.reply(between, after=between)
        assert (await dc.reply(missed, after=missed)).text == "You said: two"
        await settled(on)
    assert texts(thread) == ["You said: one", "You said: two"]


async def test_a_message_before_two_thousand_others_is_answered(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        await mention(dc, "before")
        await settled(on)
    for number in range(2100):
        dc.say(f"chat {number}", channel="general", user="bob")
    missed = dc.say("missed", channel="general", mention=True)
    async with running(on) as app:
        await up(dc, app)
        await dc.reply(missed, after=missed, matching=lambda message: message.text == "You said: missed")
