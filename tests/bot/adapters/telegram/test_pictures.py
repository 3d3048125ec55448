"""Sending pictures: captions, order, repairs, and the text without a picture."""

from __future__ import annotations

import pytest

from bot.platform import SendLater, SendRefused
from routing.types.messages import Document, Picture
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.bot.adapters.telegram.test_outbound import BUTTONS
from tests.servers.telegram import TelegramServer

CHART = Picture("usage.png", b"\x89PNG\r\n\x1a\n and more")
TALK = Document("talk.md", "# Talk")


async def test_a_picture_has_the_text_as_its_caption(tg: TelegramServer, harness: TelegramHarness) -> None:
    asked = tg.say("@tierbot usage", group="Team")
    reply = to(asked.chat, "**Last** week", picture=CHART, buttons=BUTTONS, reply_to=str(asked.id))
    (sent,) = await harness.send(reply, outbox_id=4711)
    (message,) = asked.chat.from_bot()
    assert (sent.message_id, sent.last) == (str(message.id), True)
    assert (message.text, message.captioned, message.reply_to) == ("Last week", True, asked)
    assert message.entities == [{"type": "bold", "offset": 0, "length": 4}]
    assert message.buttons[0] == {"text": "Balanced", "callback_data": "t:4711:0.0"}
    file = tg.picture(message)
    assert (file.name, file.mime, file.data) == ("usage.png", "image/png", CHART.data)


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


async def test_a_preview_becomes_the_text_and_the_picture_follows(tg: TelegramServer, harness: TelegramHarness) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "half an ans")
    first, second = await harness.send(to(tg.private(), "the answer", edits=str(shown.id), picture=CHART))
    picture = tg.private().from_bot()[-1]
    assert (shown.text, picture.text) == ("the answer", "")
    assert (first.message_id, first.last) == (str(shown.id), False)
    assert (second.message_id, second.last) == (str(picture.id), True)
    assert tg.picture(picture).data == CHART.data


async def test_the_picture_is_first_and_the_document_last(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.send(to(tg.private(), "both", picture=CHART, document=TALK))
    picture, text, document = tg.private().from_bot()
    assert tg.picture(picture).data == CHART.data
    assert text.text == "both"
    assert tg.document(document).name == "talk.md"


@pytest.mark.parametrize("kind", ["bad_request", "too_large"])
async def test_a_refused_picture_does_not_stop_the_text(
    tg: TelegramServer, harness: TelegramHarness, kind: str
) -> None:
    reason = "not enough rights to send photos to the chat" if kind == "bad_request" else "the file is too large"
    for _ in range(2):
        tg.fault("sendPhoto", kind, text=reason)  # type: ignore[arg-type]
    reply = to(tg.private(), "see **this**", picture=CHART, buttons=BUTTONS)
    (sent,) = await harness.send(reply)
    (told,) = tg.private().from_bot()
    assert told.text.lower().startswith(f"see this\n⚠️ usage.png: {reason}")
    assert told.buttons
    assert told.entities == [{"type": "bold", "offset": 4, "length": 4}]
    assert (sent.message_id, sent.last) == (str(told.id), True)
    sents = await harness.send(to(tg.private("bob"), "x" * 2000, picture=CHART))
    note, text = tg.private("bob").from_bot()
    assert note.text.lower().startswith(f"⚠️ usage.png: {reason}")
    assert text.text == "x" * 2000
    assert [part.message_id for part in sents] == [str(note.id), str(text.id)]


async def test_an_invalid_picture_does_not_stop_the_text(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.send(to(tg.private(), "words", picture=Picture("a.png", b"no picture")))
    (told,) = tg.private().from_bot()
    assert told.text == "words\n⚠️ a.png: Image_process_failed"


async def test_a_picture_with_refused_entities_gets_a_plain_caption(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    tg.fault("sendPhoto", "bad_request", text="can't parse entities: unsupported start tag")
    await harness.send(to(tg.private(), "**bold**", picture=CHART))
    (message,) = tg.private().from_bot()
    assert (message.text, message.entities, tg.picture(message).data) == ("bold", [], CHART.data)


@pytest.mark.parametrize(
    ("kind", "maybe_sent", "seconds"),
    [("hang_after", True, 30), ("drop_before", True, 30), ("server_error", False, None), ("too_many", False, 17)],
)
async def test_what_a_failed_picture_tells_the_outbox(kind: str, maybe_sent: bool, seconds: float | None) -> None:
    async with TelegramServer() as tg, running_platform(tg, pace={"answer": 0.3}) as harness:
        tg.fault("sendPhoto", kind, retry_after=17, seconds=2)  # type: ignore[arg-type]
        with pytest.raises(SendLater) as caught:
            await harness.send(to(tg.private(), "hello", picture=CHART))
        assert (caught.value.maybe_sent, caught.value.seconds) == (maybe_sent, seconds)
        assert tg.calls("sendMessage") == []


async def test_a_picture_for_an_unknown_chat_is_final(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.block("bob")
    with pytest.raises(SendRefused, match="blocked"):
        await harness.send(to(tg.private("bob"), "hello?", picture=CHART))
    assert tg.calls("sendMessage") == []
