"""Sending pictures: long texts, order, and the text without a picture."""

from __future__ import annotations

import pytest

from routing.types.messages import Document, Picture
from tests.bot.adapters.telegram.harness import TelegramHarness, to
from tests.bot.adapters.telegram.test_outbound import BUTTONS
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.faults import Kind

CHART = Picture("usage.png", b"\x89PNG\r\n\x1a\n and more")
TALK = Document("talk.md", "# Talk")


@pytest.mark.parametrize(("text", "messages"), [("🙂" * 512, [1]), ("🙂" * 513, [0, 1]), ("x" * 5000, [0, 1, 1])])
async def test_a_text_too_long_for_a_caption_follows_the_picture(
    tg: TelegramServer, harness: TelegramHarness, text: str, messages: list[int]
) -> None:
    sent = await harness.send(to(tg.private(), text, picture=CHART, buttons=BUTTONS))
    replies = tg.private().from_bot()
    assert [bool(message.text) for message in replies] == [bool(each) for each in messages]
    assert "".join(message.text for message in replies) == text
    assert [message.captioned for message in replies] == [True] + [False] * (len(messages) - 1)
    assert [part.last for part in sent] == [bool(message.buttons) for message in replies]
    assert [part.last for part in sent] == [False] * (len(messages) - 1) + [True]


async def test_pieces_sent_before_a_restart_are_not_repeated(tg: TelegramServer, harness: TelegramHarness) -> None:
    reply = to(tg.private(), "x" * 5000, picture=CHART)
    await harness.send(reply, first=1)
    assert tg.calls("sendPhoto") == []
    assert [len(message.text) for message in tg.private().from_bot()] == [4096, 904]
    await harness.send(reply, first=0, again=True)
    assert [message.text for message in tg.private().from_bot() if message.captioned] == ["(recovered)"]


async def test_the_picture_is_first_and_the_document_last(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.send(to(tg.private(), "both", picture=CHART, document=TALK))
    picture, text, document = tg.private().from_bot()
    assert tg.picture(picture).data == CHART.data
    assert text.text == "both"
    assert tg.document(document).name == "talk.md"


@pytest.mark.parametrize("kind", ["bad_request", "too_large"])
async def test_a_refused_picture_does_not_stop_the_text(
    tg: TelegramServer, harness: TelegramHarness, kind: Kind
) -> None:
    reason = "not enough rights to send photos to the chat" if kind == "bad_request" else "the file is too large"
    for _ in range(2):
        tg.fault("sendPhoto", kind, text=reason)
    reply = to(tg.private(), "see **this**", picture=CHART, buttons=BUTTONS)
    (sent,) = await harness.send(reply)
    (notice,) = tg.private().from_bot()
    assert notice.text.lower().startswith(f"see this\n⚠️ usage.png: {reason}")
    assert notice.buttons
    assert notice.entities == [{"type": "bold", "offset": 4, "length": 4}]
    assert (sent.message_id, sent.last) == (str(notice.id), True)
    sents = await harness.send(to(tg.private("bob"), "x" * 2000, picture=CHART))
    note, text = tg.private("bob").from_bot()
    assert note.text.lower().startswith(f"⚠️ usage.png: {reason}")
    assert text.text == "x" * 2000
    assert [part.message_id for part in sents] == [str(note.id), str(text.id)]


async def test_an_invalid_picture_does_not_stop_the_text(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.send(to(tg.private(), "words", picture=Picture("a.png", b"no picture")))
    (reply,) = tg.private().from_bot()
    assert reply.text == "words\n⚠️ a.png: Image_process_failed"
