"""Shutdown, and marking a waiting message."""

from __future__ import annotations

from tests.bot.adapters.discord.harness import DiscordHarness, running_platform
from tests.servers.discord import DiscordServer

BUTTONS = [{"type": 1, "components": [{"type": 2, "style": 2, "label": "Smart", "custom_id": "t:7:0.0"}]}]


async def test_during_shutdown_interactions_fail_and_messages_are_stored(dc: DiscordServer) -> None:
    async with running_platform(dc) as harness:
        sent = await harness.platform._context.send(str(dc.dm().id), {"content": "which?", "components": BUTTONS})
        await dc.wait_for(lambda _: dc.commands)
        await harness.platform.stop_receiving()
        dc.slash("status")
        dc.press(dc.dm().by_id[int(sent["id"])], "Smart")
        assert await harness.texts(0) == []
        await harness.received(dc.say("hello"))
    assert [message.text for message in harness.accepted] == ["hello"]
    assert not [call for call in dc.calls("POST") if "callback" in call.path]


async def test_a_waiting_message_is_marked(dc: DiscordServer, harness: DiscordHarness) -> None:
    message = dc.say("hi", channel="general", mention=True)
    await harness.platform.waiting(await harness.received(message))
    assert list(message.reactions) == ["👀"]
    assert dc.channel().from_bot() == []


async def test_without_reaction_permission_a_silent_note_marks_it(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.forbid(dc.channel(), "add_reactions")
    message = dc.say("hi", channel="general", mention=True)
    await harness.platform.waiting(await harness.received(message))
    [note] = dc.channel().from_bot()
    assert (note.text, note.reply_to, message.reactions) == ("👀", message, {})
    assert dc.requests[-1].body["flags"] & 1 << 12


async def test_without_any_permission_nothing_marks_it(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.forbid(dc.channel(), "add_reactions", "send_messages")
    await harness.platform.waiting(await harness.received(dc.say("hi", channel="general", mention=True)))
    assert dc.channel().from_bot() == []
