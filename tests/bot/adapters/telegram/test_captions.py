"""Sending a document or a picture with its text: captions, repairs, and what each failure tells the outbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from bot.platform import SendLater, SendRefused
from routing.types.messages import Document, OutboundMessage, Picture
from tests.bot.adapters.harness import answered_or_late
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.bot.adapters.telegram.test_outbound import BUTTONS
from tests.servers.telegram import Chat, Message, TelegramServer
from tests.servers.telegram.faults import Kind

TALK = Document("talk.md", "# Talk ✓\n")
CHART = Picture("usage.png", b"\x89PNG\r\n\x1a\n and more")


@dataclass(frozen=True)
class SentFile:
    """A file, the Bot API's method for it, and its name, MIME type and bytes."""

    field: str
    file: Document | Picture
    method: str
    expected: tuple[str, str, bytes]

    def to(self, chat: Chat, text: str, **more: Any) -> OutboundMessage:
        more[self.field] = self.file
        return to(chat, text, **more)

    def received(self, tg: TelegramServer, message: Message) -> tuple[str, str, bytes]:
        file = tg.document(message) if self.field == "document" else tg.picture(message)
        return file.name, file.mime, file.data


DOCUMENT = SentFile("document", TALK, "sendDocument", ("talk.md", "text/markdown", TALK.text.encode()))
PICTURE = SentFile("picture", CHART, "sendPhoto", ("usage.png", "image/png", CHART.data))
pytestmark = pytest.mark.parametrize("sent", [DOCUMENT, PICTURE], ids=["document", "picture"])


async def test_the_text_is_the_caption_with_buttons_and_reply(
    tg: TelegramServer, harness: TelegramHarness, sent: SentFile
) -> None:
    asked = tg.say("@tierbot export", group="Team")
    reply = sent.to(asked.chat, "**Here** it is", buttons=BUTTONS, reply_to=str(asked.id))
    (part,) = await harness.send(reply, outbox_id=4711)
    (message,) = asked.chat.from_bot()
    assert (part.message_id, part.last) == (str(message.id), True)
    assert (message.text, message.captioned, message.reply_to) == ("Here it is", True, asked)
    assert message.entities == [{"type": "bold", "offset": 0, "length": 4}]
    assert message.buttons[0] == {"text": "Balanced", "callback_data": "t:4711:0.0"}
    assert sent.received(tg, message) == sent.expected


async def test_a_preview_becomes_the_text_and_the_file_follows(
    tg: TelegramServer, harness: TelegramHarness, sent: SentFile
) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "half an ans")
    first, second = await harness.send(sent.to(tg.private(), "the answer", edits=str(shown.id)))
    file = tg.private().from_bot()[-1]
    assert (shown.text, file.text) == ("the answer", "")
    assert (first.message_id, first.last) == (str(shown.id), False)
    assert (second.message_id, second.last) == (str(file.id), True)
    assert sent.received(tg, file) == sent.expected


async def test_refused_entities_make_a_plain_caption(
    tg: TelegramServer, harness: TelegramHarness, sent: SentFile
) -> None:
    tg.fault(sent.method, "bad_request", text="can't parse entities: unsupported start tag")
    await harness.send(sent.to(tg.private(), "**bold**"))
    (message,) = tg.private().from_bot()
    assert (message.text, message.entities) == ("bold", [])
    assert sent.received(tg, message) == sent.expected


@pytest.mark.parametrize(
    ("kind", "maybe_sent", "seconds"),
    [("hang_after", True, 30), ("drop_before", True, 30), ("server_error", False, None), ("too_many", False, 17)],
)
async def test_what_a_failure_tells_the_outbox(
    tg: TelegramServer, sent: SentFile, kind: Kind, maybe_sent: bool, seconds: float | None
) -> None:
    async with running_platform(tg) as harness:
        fault = tg.fault(sent.method, kind, retry_after=17, seconds=3600)
        with pytest.raises(SendLater) as caught:
            await answered_or_late(tg, fault, harness.send(sent.to(tg.private(), "hello")), 120.0)
        assert (caught.value.maybe_sent, caught.value.seconds) == (maybe_sent, seconds)
        assert tg.calls("sendMessage") == []


async def test_an_unknown_chat_is_final(tg: TelegramServer, harness: TelegramHarness, sent: SentFile) -> None:
    tg.block("bob")
    with pytest.raises(SendRefused, match="blocked"):
        await harness.send(sent.to(tg.private("bob"), "hello?"))
    assert tg.calls("sendMessage") == []
