"""Sending the files of tools: as documents, pictures and voice messages, and what is shown if that is refused."""

from __future__ import annotations

import pytest

from bot.adapters.telegram.parts import MAX_FILE_BYTES
from routing.types.messages import OutgoingFile
from tests.bot.adapters.telegram.harness import TelegramHarness, to
from tests.bot.adapters.telegram.test_outbound import BUTTONS
from tests.servers.telegram import TelegramServer

REPORT = OutgoingFile("report.pdf", "application/pdf", b"%PDF \x00\xff")
DRAWING = OutgoingFile("cat.png", "image/png", b"\x89PNG\r\n\x1a\n and more", "picture")
SPOKEN = OutgoingFile("answer.ogg", "audio/ogg", b"OggS spoken", "voice")


async def test_each_kind_is_sent_with_its_method(tg: TelegramServer, harness: TelegramHarness) -> None:
    sent = await harness.send(to(tg.private(), "Here", files=(REPORT, DRAWING, SPOKEN), buttons=BUTTONS))
    text, document, picture, voice = tg.private().from_bot()
    assert text.text == "Here"
    assert (tg.document(document).name, tg.document(document).data) == (REPORT.name, REPORT.data)
    assert tg.picture(picture).data == DRAWING.data
    assert "voice" in voice.content
    assert voice.buttons
    assert [part.last for part in sent] == [False, False, False, True]
    await harness.send(to(tg.private("bob"), "One **file**", files=(REPORT,)))
    (alone,) = tg.private("bob").from_bot()
    assert (alone.text, tg.document(alone).data) == ("One file", REPORT.data)


async def test_a_refused_picture_or_voice_message_is_sent_as_a_file(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    tg.fault("sendVoice", "bad_request", text="VOICE_MESSAGES_FORBIDDEN")
    broken = OutgoingFile("cat.webp", "image/webp", b"no picture", "picture")
    await harness.send(to(tg.private(), "Here", files=(SPOKEN, broken)))
    assert [tg.document(each).data for each in tg.private().from_bot()[1:]] == [SPOKEN.data, broken.data]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (OutgoingFile("big.bin", "", b"x" * (MAX_FILE_BYTES + 1)), "too large for Telegram, which takes 50 MB"),
        (OutgoingFile("lost.pdf", "", key="abc"), "the file is no longer there"),
    ],
)
async def test_a_file_that_cannot_be_sent_leaves_a_note(
    tg: TelegramServer, harness: TelegramHarness, file: OutgoingFile, why: str
) -> None:
    await harness.send(to(tg.private(), "Here", files=(file, REPORT)))
    text, note, document = tg.private().from_bot()
    assert (text.text, note.text) == ("Here", f"⚠️ {file.name}: {why}")
    assert tg.document(document).data == REPORT.data


async def test_a_refused_file_does_not_stop_the_others(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.fault("sendDocument", "bad_request", text="not enough rights to send documents to the chat")
    (*_, last) = await harness.send(to(tg.private(), "Here", files=(REPORT, DRAWING)))
    _, note, picture = tg.private().from_bot()
    assert note.text.lower() == "⚠️ report.pdf: not enough rights to send documents to the chat"
    assert tg.picture(picture).data == DRAWING.data
    assert last.message_id == str(picture.id)
