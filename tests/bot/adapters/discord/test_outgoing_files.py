"""Sending the files of tools: as attachments, in further messages if they are many, and a note for those left out."""

from __future__ import annotations

from bot.adapters.discord.parts import MAX_FILE_BYTES
from routing.types.messages import Document, OutgoingFile
from tests.bot.adapters.discord.client import Sender, to
from tests.bot.adapters.discord.test_pictures import shown
from tests.servers.discord import DiscordServer

REPORT = OutgoingFile("report.pdf", "application/pdf", b"%PDF \x00\xff")
SPOKEN = OutgoingFile("answer.ogg", "audio/ogg", b"OggS spoken", "voice")


async def test_files_are_attached_to_the_answer(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "Here", files=(REPORT, SPOKEN)))
    message = await dc.reply()
    assert message.text == "Here"
    assert shown(message) == [(each.name, each.mime, each.data) for each in (REPORT, SPOKEN)]


async def test_files_that_do_not_fit_into_one_message_are_sent_in_the_next(dc: DiscordServer, sender: Sender) -> None:
    large = tuple(OutgoingFile(f"{n}.bin", "", bytes([n]) * (9 * 2**20)) for n in range(1, 4))
    sent = await sender.send(to(dc.dm(), "Here", document=Document("a.md", "x"), files=large))
    first, second = dc.dm().from_bot()
    assert (first.text, [file.name for file in first.attachments]) == ("Here", ["a.md", "1.bin", "2.bin"])
    assert (second.text, [file.name for file in second.attachments]) == ("", ["3.bin"])
    assert [part.last for part in sent] == [False, True]


async def test_a_file_that_cannot_be_sent_leaves_a_note(dc: DiscordServer, sender: Sender) -> None:
    big, lost = OutgoingFile("big.bin", "", b"x" * (MAX_FILE_BYTES + 1)), OutgoingFile("lost.pdf", "", key="abc")
    await sender.send(to(dc.dm(), "Here", files=(big, lost, REPORT)))
    message = await dc.reply()
    assert message.text == (
        "Here\n⚠️ big.bin: too large for Discord, which takes 10 MB\n⚠️ lost.pdf: the file is no longer there"
    )
    assert [file.name for file in message.attachments] == ["report.pdf"]
