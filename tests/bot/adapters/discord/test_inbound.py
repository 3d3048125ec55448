"""Who is addressed, and the text of a message."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.discord.messages import UNREADABLE
from routing.types.messages import Attachment, ChatKey, UserKey
from tests.bot.adapters.discord.client import key, to
from tests.bot.adapters.discord.harness import DiscordHarness, running_platform
from tests.servers.discord import Channel, DiscordServer, Message
from tests.servers.discord.views import message_event, role_json


def dispatched(dc: DiscordServer, text: str = "look", channel: Channel | None = None, **changes: Any) -> Message:
    """A message with these fields from the gateway; in private unless there is a channel."""
    message = dc.add_message(channel or dc.dm(), dc.user(), dc.version(text))
    event = message_event(dc, message, readable=True) | changes
    dc.events.dispatch("MESSAGE_CREATE", event, message.channel.guild)
    return message


async def test_every_direct_message_is_for_the_bot(dc: DiscordServer, harness: DiscordHarness) -> None:
    message = dc.say("  hello <@4242424242424242> there ", user="Bob")
    received = await harness.received(message)
    assert received.user == UserKey("discord", str(dc.user("Bob").id))
    assert received.chat == ChatKey("discord", str(dc.dm("Bob").id))
    assert (received.bot_id, received.bot_name) == (str(dc.bot.id), "tierbot")
    assert received.update_id == received.message_id == str(message.id)
    assert (received.kind, received.user_name, received.private, received.language) == ("message", "Bob", True, "")
    assert received.text == "hello @tierbot there"
    assert abs(received.sent_at - message.at) < 0.01


async def test_in_a_guild_only_mentions_and_replies_are_for_the_bot(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.guild()
    dc.say("nothing for you", channel="general")
    dc.say("@everyone look", channel="general")
    dc.say("not you", channel="general", mention=dc.user("Bob"))
    asked = dc.say("what is this?", channel="general", mention=True)
    received = await harness.received(asked)
    assert harness.accepted == [received]
    assert (received.text, received.private, received.language) == ("what is this?", False, "en")
    assert received.chat == ChatKey("discord", str(dc.channel("general").id))
    await harness.send(to(dc.channel("general"), "an answer"))
    answer = dc.channel("general").from_bot()[0]
    received = await harness.received(dc.say("and this?", channel="general", reply_to=answer))
    assert (received.text, received.quoted) == ("and this?", "an answer")


async def test_a_reply_to_another_person_needs_a_mention(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.guild()
    bobs = dc.say("42 <:smile:123456>", user="Bob", channel="general")
    dc.say("no!", channel="general", reply_to=bobs)
    received = await harness.received(dc.say("is he right?", channel="general", reply_to=bobs, mention=True))
    assert [(message.text, message.quoted) for message in harness.accepted] == [("is he right?", "42 :smile:")]
    assert received.text == "is he right?"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("{me}, hello", "hello"),
        ("hello {me}", "hello"),
        ("{me} {me} hello {me}", "hello"),
        ("<@!{id}>: hello", "hello"),
        ("tell {bob} that {me} can", "tell @Bob that @tierbot can"),
        ("{me} see {here} and <#1>, <@&2>", "see #general and <#1>, <@&2>"),
        ("{me} {role}!", "@crew!"),
        ("{me} <a:wave:12345>", ":wave:"),
        ("{me}", ""),
    ],
)
async def test_mentions_are_read_as_names(dc: DiscordServer, written: str, read: str) -> None:
    role, bob = dc.role("crew"), dc.user("Bob")
    async with running_platform(dc) as harness:
        where = {"me": dc.bot.mention, "id": dc.bot.id, "bob": bob.mention, "role": f"<@&{role.id}>"}
        text = written.format(**where, here=dc.channel("general").mention)
        assert (await harness.received(dc.say(text, channel="general"))).text == read


async def test_bots_webhooks_and_system_messages_are_ignored(dc: DiscordServer, harness: DiscordHarness) -> None:
    dispatched(dc, "a bot", author=dc.user("Bob").json() | {"bot": True})
    dispatched(dc, "a hook", webhook_id="77")
    dispatched(dc, "a pin", type=6)
    dispatched(dc, "a system", author=dc.user("Bob").json() | {"system": True})
    await harness.send(to(dc.dm(), "my own"))
    await harness.received(dc.say("last"))
    assert await harness.texts(1) == ["last"]


async def test_a_mention_joins_a_thread_as_a_conversation(dc: DiscordServer, harness: DiscordHarness) -> None:
    thread = dc.thread("plans")
    where = ChatKey("discord", str(dc.channel("general").id), str(thread.id))
    dc.say("among us", thread=thread)
    assert (await harness.received(dc.say("join us", thread=thread, mention=True))).chat == where == key(thread)
    received = await harness.received(dc.say("and now?", thread=thread))
    assert (received.text, received.chat) == ("and now?", where)
    bobs = dc.say("I think so", user="Bob", thread=thread)
    await harness.received(bobs)
    dc.say("I don't", thread=thread, reply_to=bobs)
    dc.say("go on", thread=thread, mention=dc.user("Bob"))
    await harness.received(dc.say("you?", thread=thread, mention=True))
    assert [message.text for message in harness.accepted] == ["join us", "and now?", "I think so", "you?"]


async def test_without_the_intent_an_unreadable_reply_is_explained() -> None:
    async with DiscordServer(privileged=()) as dc, running_platform(dc) as harness:
        dc.guild()
        assert (await harness.received(dc.say("in private"))).text == "in private"
        dc.say("not for you", channel="general")
        asked = await harness.received(dc.say("what?", channel="general", mention=True))
        assert (asked.text, asked.kind) == ("what?", "message")
        await harness.send(to(dc.channel("general"), "an answer"))
        answer = message_event(dc, dc.channel("general").from_bot()[0], readable=True)
        quiet = dispatched(dc, channel=dc.channel("general"), content="", type=19, referenced_message=answer)
        unread = await harness.received(quiet)
        assert (unread.text, unread.kind) == (UNREADABLE, "unsupported")


async def test_readable_files(dc: DiscordServer, harness: DiscordHarness) -> None:
    files: list[tuple[str, bytes] | tuple[str, bytes, str]] = [
        ("a.png", b"png", "image/png"), ("notes.md", b"# hi"), ("main.ts", b"let x", "video/mp2t"),
        ("voice.ogg", b"ogg", "audio/ogg; codecs=opus"), ("data.json", b"{}", "application/json; charset=utf-8"),
        ("odd.bin", b"??", "application/octet-stream"),
    ]  # fmt: skip
    message = dc.say("see", attachments=files)
    received = await harness.received(message)
    assert [(one.kind, one.name, one.mime, one.size) for one in received.attachments] == [
        ("image", "a.png", "image/png", 3), ("text", "notes.md", "text/plain", 4),
        ("text", "main.ts", "text/plain", 5), ("voice", "voice.ogg", "audio/ogg", 3),
        ("text", "data.json", "text/plain", 2), ("document", "odd.bin", "application/octet-stream", 2),
    ]  # fmt: skip
    first: Attachment = received.attachments[0]
    sent = message.versions[-1].attachments[0]
    assert first.ref == f"discord:{message.channel.id}/{message.id}/{sent.id} {sent.url}"


FILE = {"id": "1", "filename": "x", "url": "u"}


@pytest.mark.parametrize(
    ("changes", "read"),
    [
        ({"attachments": [FILE | {"content_type": "video/mp4"}]}, "videos"),
        ({"content": "", "sticker_items": [{"id": "1", "name": "s", "format_type": 1}]}, "stickers"),
        ({"content": "", "poll": {"question": {"text": "?"}}}, "polls"),
    ],
)  # fmt: skip
async def test_unreadable_content_is_named(
    dc: DiscordServer, harness: DiscordHarness, changes: dict[str, Any], read: str
) -> None:
    received = await harness.received(dispatched(dc, **changes))
    assert (received.kind, received.text) == ("unsupported", read)


async def test_text_with_a_sticker_is_text_and_an_empty_message_is_ignored(
    dc: DiscordServer, harness: DiscordHarness
) -> None:
    dispatched(dc, "hi", sticker_items=[{"id": "1", "name": "s", "format_type": 1}])
    dispatched(dc, "  ")
    await harness.received(dc.say("last"))
    assert [(one.kind, one.text) for one in harness.accepted] == [("message", "hi"), ("message", "last")]


async def test_a_forwarded_message_has_the_forwarded_content(dc: DiscordServer, harness: DiscordHarness) -> None:
    picture = {"id": "9", "filename": "p.png", "content_type": "image/png", "size": 3, "url": "http://x/p.png"}
    whole = {"type": 0, "content": "from elsewhere", "attachments": [picture]}
    received = await harness.received(dispatched(dc, "", message_snapshots=[{"message": whole}]))
    assert (received.text, [one.name for one in received.attachments]) == ("from elsewhere", ["p.png"])
    assert received.attachments[0].ref.endswith(f"/{received.message_id}/9 http://x/p.png")


async def test_an_edit_counts_and_a_link_preview_does_not(dc: DiscordServer, harness: DiscordHarness) -> None:
    message = dc.say("teh")
    await harness.received(message)
    shown = message_event(dc, message, readable=True) | {"embeds": [{"title": "a link"}]}
    dc.events.dispatch("MESSAGE_UPDATE", shown, None)
    dc.edit(message, "the")
    await harness.texts(2)
    edit = harness.accepted[-1]
    assert (edit.kind, edit.text, edit.message_id) == ("edited", "the", str(message.id))
    assert edit.update_id.startswith(f"{message.id}:")
    assert len(edit.update_id) <= 64
    assert edit.sent_at >= message.at
    dc.guild()
    dc.edit(dc.say("not for you", channel="general"), "still not")
    asked = dc.say("for you", channel="general", mention=True)
    dc.edit(asked, f"{dc.bot.mention} you!")
    assert (await harness.texts(4))[2:] == ["for you", "you!"]


async def test_people_have_their_guild_nickname(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.guild()
    bob = dc.user("Bob").json() | {"member": {"nick": "Bobby"}}
    text = f"{dc.bot.mention} {dc.user('Bob').mention}"
    called = dispatched(dc, text, dc.channel("general"), member={"nick": "Ali"}, mentions=[bob, dc.bot.json()])
    received = await harness.received(called)
    assert (received.user_name, received.text) == ("Ali", "@Bobby")


async def test_a_mention_of_the_bots_role_is_for_the_bot(dc: DiscordServer) -> None:
    role = dc.role("tierbot")
    async with running_platform(dc) as harness:
        managed = role_json(role.id, role.name, 0) | {"managed": True, "tags": {"bot_id": str(dc.bot.id)}}
        dc.events.dispatch("GUILD_ROLE_UPDATE", {"guild_id": str(dc.guild().id), "role": managed}, dc.guild())
        received = await harness.received(dc.say(f"<@&{role.id}> hello", channel="general"))
        assert received.text == "hello"
