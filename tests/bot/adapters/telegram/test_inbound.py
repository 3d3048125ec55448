"""Who is addressed in a group, and how each kind of content is read."""

from __future__ import annotations

import pytest
from telegram import Update

from bot.adapters.telegram.messages import BotIdentity, read
from routing.types.messages import Attachment, ChatKey, InboundMessage, Press
from tests.bot.adapters.telegram.harness import running_platform, to
from tests.servers.telegram import Message, TelegramServer, User

Json = dict[str, object]


def inbound(tg: TelegramServer, message: Message) -> InboundMessage | None:
    """The adapter's reading of the message's update, without a network."""
    assert message.update is not None
    return read(Update.de_json(message.update, None), BotIdentity(tg.bot.id, "tierbot"), 1.0)


def received(tg: TelegramServer, message: Message) -> InboundMessage:
    found = inbound(tg, message)
    assert found is not None
    return found


@pytest.fixture
def tg() -> TelegramServer:
    """A server that does not listen."""
    return TelegramServer()


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("@tierbot what time is it?", "what time is it?"),
        ("@TierBot: what time is it?", "what time is it?"),
        ("what time is it @tierbot", "what time is it"),
        ("is @tierbot right?", "is @tierbot right?"),
        ("😀 hello @tierbot", "😀 hello"),
        ("@tierbot 😀 hello @tierbot", "😀 hello"),
        ("@tierbot", ""),
        ("/tier smart", "/tier smart"),
        ("/tier@tierbot smart", "/tier@tierbot smart"),
        ("@tierbot /status", "/status"),
    ],
)
async def test_a_group_message_for_this_bot(tg: TelegramServer, typed: str, text: str) -> None:
    found = received(tg, tg.say(typed, group="Team"))
    assert (found.text, found.private, found.chat.thread_id) == (text, False, "")


@pytest.mark.parametrize(
    "typed", ["good morning", "@otherbot hello", "/tier@otherbot smart", "see /etc/passwd", "mail x@tierbot.org"]
)
async def test_a_group_message_for_another_person(tg: TelegramServer, typed: str) -> None:
    assert inbound(tg, tg.say(typed, group="Team")) is None


async def test_another_bots_command_is_ignored_in_private(tg: TelegramServer) -> None:
    assert inbound(tg, tg.say("/tier@otherbot smart")) is None
    assert received(tg, tg.say("/etc/passwd is a file")).text == "/etc/passwd is a file"


async def test_a_mention_by_name(tg: TelegramServer) -> None:
    message = tg.say("Tierbot hello", group="Team", mention=tg.bot)
    assert received(tg, message).text == "hello"
    someone = User(55, "Tierbot")
    assert inbound(tg, tg.say("Tierbot hello", group="Team", mention=someone)) is None


async def test_a_reply_to_the_bot_addresses_it_and_includes_the_quote() -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        group = tg.group("Team")
        await harness.send(to(group, "The answer is " + "4" * 2000))
        answer = await tg.reply(group)
        replied = await harness.received(tg.say("why?", group=group, reply_to=answer))
        assert replied.text == "why?"
        assert replied.quoted == answer.text[:1000]
        tg.say("because", group=group, user="bob", reply_to=tg.say("why, bob?", group=group))
        await harness.received(tg.say("marker"))
        assert [message.text for message in harness.accepted] == ["why?", "marker"]


async def test_topics_are_conversations_and_general_is_the_group(tg: TelegramServer) -> None:
    group = tg.group("Forum", forum=True)
    topic = tg.topic(group, "Cooking")
    in_topic = received(tg, tg.say("@tierbot soup", group=group, topic=topic))
    assert in_topic.chat == ChatKey("telegram", str(group.id), str(topic.id))
    assert in_topic.quoted == ""
    assert received(tg, tg.say("@tierbot hi", group=group)).chat == ChatKey("telegram", str(group.id))
    assert inbound(tg, tg.say("not for the bot", group=group, topic=topic)) is None


async def test_in_the_bots_topic_not_every_message_is_a_reply_to_it(tg: TelegramServer) -> None:
    group = tg.group("Forum", forum=True)
    topic = tg.open_topic(group, "Made by the bot", tg.bot)
    assert inbound(tg, tg.say("chatter", group=group, topic=topic)) is None


async def test_a_reply_chain_is_not_a_topic(tg: TelegramServer) -> None:
    message = tg.say("@tierbot hi", group="Team", content={"message_thread_id": 77})
    assert received(tg, message).chat.thread_id == ""


async def test_readable_files(tg: TelegramServer) -> None:
    photo = received(tg, tg.say_photo(b"12345", caption="what is this?", media_group="g1"))
    assert (photo.text, photo.album, photo.kind) == ("what is this?", "g1", "message")
    (image,) = photo.attachments
    assert image.ref.startswith("telegram:photos-file")
    assert (image.kind, image.mime, image.size) == ("image", "image/jpeg", 5)

    def kinds(name: str, mime: str) -> list[tuple[str, str]]:
        return [(file.kind, file.name) for file in received(tg, tg.say_document(name, b"x", mime)).attachments]

    assert kinds("a.txt", "text/plain") == [("text", "a.txt")]
    assert kinds("a.json", "application/json") == [("text", "a.json")]
    assert kinds("main.rs", "application/octet-stream") == [("text", "main.rs")]
    assert kinds("Makefile", "application/octet-stream") == [("text", "Makefile")]
    assert kinds("a.png", "image/png") == [("image", "a.png")]
    voice = received(tg, tg.say_voice(b"OggS"))
    assert voice.attachments == (Attachment("voice", "voice.ogg", "audio/ogg", 4, voice.attachments[0].ref),)


@pytest.mark.parametrize(
    ("kind", "noun"),
    [
        ("sticker", "stickers"),
        ("poll", "polls"),
        ("location", "locations"),
        ("contact", "contacts"),
        ("dice", "dice"),
        ("video_note", "video messages"),
    ],
)
async def test_unreadable_content_is_named(tg: TelegramServer, kind: str, noun: str) -> None:
    found = received(tg, tg.unsupported(kind))
    assert (found.kind, found.text, found.attachments) == ("unsupported", noun, ())
    assert inbound(tg, tg.unsupported(kind, group="Team")) is None


async def test_any_document_but_a_video_is_taken(tg: TelegramServer) -> None:
    pdf = received(tg, tg.say_document("a.pdf", b"%PDF", "application/pdf", caption="read this"))
    assert (pdf.kind, pdf.text) == ("message", "read this")
    assert [(each.kind, each.name, each.mime) for each in pdf.attachments] == [("document", "a.pdf", "application/pdf")]
    video = received(tg, tg.say_document("a.mp4", b"video", "video/mp4"))
    assert (video.kind, video.extension, video.attachments) == ("unsupported", ".mp4", ())


async def test_service_messages_are_ignored(tg: TelegramServer) -> None:
    for content in ({"new_chat_members": [tg.bot.json()]}, {"new_chat_title": "x"}, {"group_chat_created": True}):
        assert inbound(tg, tg.say("", group="Team", content=content)) is None
    assert (
        inbound(tg, tg.say("", content={"message_auto_delete_timer_changed": {"message_auto_delete_time": 1}})) is None
    )


async def test_an_edit_is_for_the_bot_if_the_message_would_be(tg: TelegramServer) -> None:
    message = tg.say("helo")
    tg.edit(message, "hello")
    found = received(tg, message)
    assert (found.kind, found.text, found.message_id) == ("edited", "hello", str(message.id))
    walk = tg.unsupported("location")
    tg.edit(walk, "")
    assert inbound(tg, walk) is None
    chatter = tg.say("chatter", group="Team")
    tg.edit(chatter, "more chatter")
    assert inbound(tg, chatter) is None


async def test_a_press_delivers_the_buttons_data() -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        forum = tg.group("Forum", forum=True)
        topic = tg.topic(forum, "Cooking")
        message = tg.add_message(forum, tg.bot, "choose", thread_id=topic.id)
        tg.revise(message, "choose", [], {"inline_keyboard": [[{"text": "Smart", "callback_data": "t:7:0.1"}]]})
        press = tg.press("Smart", message=message, user="bob")
        found = await harness.until()
        assert (found.kind, found.text, found.user_name) == ("press", "t:7:0.1", "Bob")
        assert found.press == Press(press.id, str(message.id))
        assert found.chat == ChatKey("telegram", str(forum.id), str(topic.id))


async def test_bots_and_channel_posts_are_ignored_and_anonymous_admins_are_not(tg: TelegramServer) -> None:
    robot = User(77, "Robot", "robot", None, is_bot=True)
    assert inbound(tg, tg.say("/help", user=robot, group="Team")) is None
    channel: Json = {"id": -1009, "type": "channel", "title": "News"}
    auto: dict[str, object] = {"sender_chat": channel, "is_automatic_forward": True}
    assert inbound(tg, tg.say("@tierbot news", group="Team", content=auto)) is None
    group = tg.group("Team")
    anonymous = tg.say("/help", user=robot, group=group, content={"sender_chat": group.json()})
    found = received(tg, anonymous)
    assert (found.user.user_id, found.user_name) == (str(group.id), "Team")
