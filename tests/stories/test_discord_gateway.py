"""A failing gateway loses and duplicates nothing, and the owner gets problems that only they can fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.adapters.discord.connection import NO_CONTENT, REVOKED
from tests.servers.discord import DiscordServer
from tests.servers.discord.intents import GUILDS
from tests.stories.discord_bot import HURRIED, hurried, mention, owner_notified, texts, up
from tests.stories.harness import BotHarness, ask, running, settled

pytestmark = pytest.mark.usefixtures("open_access")

__all__ = ["hurried"]
REFUSED = "can't be delivered: the bot can't write in that channel (it lacks Send Messages"
HISTORY = "/channels/{channel_id}/messages"
Fail = Callable[[DiscordServer], None]


@pytest.mark.parametrize(
    ("fail", "resumes"),
    [
        (lambda dc: dc.gateway_silent(), True),  # dead, though it looks open
        (lambda dc: dc.ask_reconnect(), True),
        (lambda dc: dc.invalidate(resumable=True), True),
        (lambda dc: dc.invalidate(), False),
    ],
    ids=["silent", "reconnect", "invalid, resumable", "invalid"],
)
async def test_messages_during_a_disconnect_are_answered_once(
    on: BotHarness, dc: DiscordServer, fail: Fail, resumes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By RESUME, or by reading the channels after a new IDENTIFY: in private, in a channel and in a thread."""
    monkeypatch.setattr("bot.adapters.discord.descriptor.Pace", lambda: replace(HURRIED, silence=1.0))
    dc.heartbeat_interval = 0.1
    async with running(on) as app:
        await up(dc, app)
        await dc.reply(dc.say("private 1"))
        await mention(dc, "channel 1")
        thread = dc.thread("aside")
        await dc.reply(dc.say("thread 1", thread=thread, mention=True))
        fail(dc)
        for number in (2, 3):
            dc.say(f"private {number}")
            dc.say(f"channel {number}", channel="general", mention=True)
            dc.say(f"thread {number}", thread=thread)
        rooms = {"private": dc.dm(), "channel": dc.channel(), "thread": thread}
        await dc.wait_for(lambda _: all(f"You said: {name} 3" in texts(room) for name, room in rooms.items()), 60)
        await dc.wait_for(lambda _: dc.sessions[0].resumes if resumes else len(dc.sessions) > 1)
        await settled(on)
    for name, room in rooms.items():
        assert texts(room) == [f"You said: {name} {number}" for number in (1, 2, 3)], dc.transcript()
    assert len(on.ms.calls) == 9
    assert (len(dc.sessions) == 1) == resumes
    assert bool(dc.calls("GET", HISTORY)) == (not resumes)


@pytest.mark.usefixtures("hurried")
async def test_a_revoked_token_is_reported_once_and_telegram_continues(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        await dc.reply(dc.say("before"))
        dc.revoke()
        await on.tg.reply(matching=f"⚠️ {REVOKED}")
        assert (await ask(on, "still there?")).text == "You said: still there?"
        dc.restore()
        missed = dc.say("meanwhile")
        await dc.reply(missed, matching="You said: meanwhile")
        await settled(on)
    assert [text for text in texts(dc.dm()) if text.startswith("You")] == ["You said: before", "You said: meanwhile"]
    assert len([m for m in on.tg.private().from_bot() if REVOKED in m.text]) == 1


@pytest.mark.usefixtures("hurried")
async def test_a_refused_intent_is_reported_once_and_dropped(
    on: BotHarness, dc: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(on) as app:
        await up(dc, app)
        dc.grant()
        dc.invalidate()  # the next IDENTIFY is closed with 4014
        await owner_notified(on, dc, f"⚠️ Discord: {NO_CONTENT}")
        assert (await mention(dc, "and now?")).text == "You said: and now?"
        assert (await ask(on, "there?")).text == "You said: there?"
    async with running(on) as app:
        await up(dc, app)
        assert (await mention(dc, "again?")).text == "You said: again?"
        await settled(on)
        await owner_notified(on, dc, NO_CONTENT)
    async with running(on) as app:
        await up(dc, app)
        await dc.reply(dc.say("and in private?"), matching="and in private?")
    assert "can't look for missed messages" not in caplog.text, "the channel of the owner's notice is not fetched"


async def test_a_read_only_channel_is_reported_to_the_owner(on: BotHarness, dc: DiscordServer) -> None:
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with running(on) as app:
        await up(dc, app)
        dc.forbid("general", "send_messages")
        message = dc.say("hm?", channel="general", mention=True, user="bob")
        await gate.reached(60.0)
        await dc.wait_for(lambda _: dc.refusals)
        gate.open()
        await owner_notified(on, dc, f"📭 A reply to discord:{message.channel.id} {REFUSED}")
        assert (await dc.reply(dc.say("in private"), matching="in private")).text == "You said: in private"
        assert (await ask(on, "there?")).text == "You said: there?"
        await settled(on)
    assert texts(dc.channel()) == []
    assert len([each for each in dc.refusals if each.method == "POST"]) <= 3


async def test_a_channel_the_bot_can_no_longer_see(on: BotHarness, dc: DiscordServer) -> None:
    gate = on.ms.gate("never seen")
    async with running(on) as app:
        await up(dc, app)
        dc.say("hm?", channel="general", mention=True, user="bob")
        await gate.reached(60.0)
        dc.forbid("general", "view_channel")
        gate.open()
        await owner_notified(
            on, dc, "can't be delivered: the bot can't see that channel (it lacks the View Channel permission)"
        )
        await settled(on)
    assert len(on.ms.calls) == 1


async def test_removal_from_a_server_is_reported_once_and_an_outage_is_not(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        guild = dc.guild()
        dc.events.dispatch("GUILD_DELETE", {"id": str(guild.id), "unavailable": True}, guild, GUILDS)
        other = dc.guild("Other")
        assert (await mention(dc, "hm?")).text == "You said: hm?"
        dc.kick(guild)
        await owner_notified(on, dc, "🚪 I was removed from the Discord server Team.")
        message = dc.say("and here?", channel="general", guild=other, mention=True)
        assert (await dc.reply(message, after=message)).text == "You said: and here?"
        assert (await ask(on, "there?")).text == "You said: there?"
        await settled(on)
    assert "Other" not in "".join(texts(dc.dm()))
