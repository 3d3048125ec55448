"""At the prompt a document becomes a file."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from bot.adapters.console.saving import saved
from routing.types.messages import Document, OutboundMessage
from tests.bot.adapters.console.fake_bot import FakeBot
from tests.bot.adapters.console.terminal import Terminal, at_prompt, mode
from tests.keyboard import ENTER
from tests.polling import until


async def reply_with(terminal: Terminal, document: Document) -> None:
    """The reply to the first line has a document."""
    asked = terminal.fake_bot.messages[0]
    reply = OutboundMessage(asked.chat, "Here **it** is.", reply_to=asked.message_id, document=document)
    assert [sent.last async for sent in terminal.fake_bot.platform.send(reply, 1, 0, False)] == [True]


async def test_a_document_becomes_a_file_that_overwrites_nothing(history: Path) -> None:
    exports = history.parent / "exports"
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("/history export" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        for text in ("# One", "# Two", "# Two"):
            await reply_with(terminal, Document("talk.md", text))
        await terminal.sees(f"Here it is.\nSaved as {exports / 'talk.md'}\n")
        assert terminal.shown.count(f"Saved as {exports / 'talk-2.md'}\n") == 2
        assert "# One" not in terminal.shown
    assert {each.name: each.read_text() for each in exports.iterdir()} == {"talk.md": "# One", "talk-2.md": "# Two"}
    assert (mode(exports), mode(exports / "talk.md")) == (0o700, 0o600)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../.bashrc", "bashrc"),
        ("/etc/\x1b[31mpasswd\n", "passwd"),
        ("a\\b.md", "b.md"),
        ("..", "document"),
        ("x" * 300 + ".md", "x" * 57 + ".md"),
        ("🙂" * 300, "🙂" * 60),
    ],
)
def test_a_file_name_cannot_leave_the_folder(tmp_path: Path, name: str, kept: str) -> None:
    folder = tmp_path / "exports"
    assert saved(Document(name, "é\ud800"), folder) == folder / kept
    assert (folder / kept).read_bytes() == "é?".encode()
    assert list(tmp_path.iterdir()) == [folder]


async def test_a_document_that_cannot_be_saved_is_reported(tmp_path: Path) -> None:
    (tmp_path / "exports").write_text("a file in the way")
    async with at_prompt(FakeBot(lambda _: None), tmp_path / "history") as terminal:
        terminal.type("/history export" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        await reply_with(terminal, Document("talk.md", "# One"))
        await terminal.sees(f"talk.md could not be saved in {tmp_path / 'exports'} (File exists).")


def test_a_partial_document_is_removed(tmp_path: Path) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    earlier = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            saved(Document("talk.md", "x" * 2000), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        signal.signal(signal.SIGXFSZ, earlier)
    assert list(tmp_path.iterdir()) == []
