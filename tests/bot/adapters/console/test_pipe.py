"""Through a pipe: one line in, one reply out, and nothing else on stdout."""

from __future__ import annotations

import asyncio
import os
from io import StringIO
from pathlib import Path
from typing import TextIO

import pytest

from routing.errors import Refused
from routing.types.messages import (
    Attachment,
    Button,
    ChatKey,
    Document,
    InboundMessage,
    OutboundMessage,
    UserKey,
)
from tests.bot.adapters.console.fake_bot import FakeBot, kept
from tests.bot.adapters.console.pipes import Ends, _rest, talk, talking
from tests.polling import until


async def test_each_line_gets_its_reply_and_an_empty_line(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"one\n\n   \ntwo\r\nthree")
    assert await talk(fake_bot, ends, history) == 0
    assert fake_bot.texts == ["one", "two", "three"]
    assert ends.printed() == "You said one\n\nYou said two\n\nYou said three\n\n"
    assert ends.stderr_text() == ""


async def test_exit_ends_the_pipe(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"one\n/exit\ntwo\n")
    assert await talk(fake_bot, ends, history) == 0
    assert fake_bot.texts == ["one"]


async def test_a_mistyped_exit_suggests_exit(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"/exitt\n/tierr\n")
    assert await talk(fake_bot, ends, history) == 0
    assert fake_bot.texts == ["/tierr"]
    offer, reply, _ = ends.printed().split("\n\n")
    assert offer == "There is no command /exitt. Did you mean /exit? /help lists them all."
    assert reply == "You said /tierr"


async def test_a_line_is_taken_only_after_the_reply_before_it(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"a\nb\nc\nd\n")
    await talk(fake_bot, ends, history)
    assert fake_bot.replies_before == [0, 1, 2, 3]


async def test_a_message_carries_sender_chat_and_time(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type("grüß dich\nagain\n".encode())
    await talk(fake_bot, ends, history)
    first, second = fake_bot.messages
    assert first == InboundMessage(
        user=UserKey("console", "ann"),
        chat=ChatKey("console", "ann"),
        bot_id="console",
        update_id=first.update_id,
        text="grüß dich",
        sent_at=fake_bot.clock(),
        user_name="ann",
        bot_name="tierbot",
        message_id=first.update_id,
    )
    assert len(first.update_id) == 32
    assert first.update_id != second.update_id
    assert fake_bot.platform.progress.last_update == fake_bot.clock()


async def test_markdown_is_unchanged_and_buttons_become_commands(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    async with talking(fake_bot, ends, history):
        ends.type(b"/tier\n")
        await until(lambda: bool(fake_bot.messages))
        buttons = (
            (
                Button("Smart", "/tier smart"),
                Button("Deep", "/tier deep"),
            ),
            (Button("!", "/tier deep"),),
        )
        await fake_bot.reply(fake_bot.messages[0], "# Tier\n\n**balanced**\n", buttons=buttons)
    assert ends.printed() == "# Tier\n\n**balanced**\nYou can type: /tier smart · /tier deep\n\n"


async def test_a_document_is_printed_as_the_reply(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    async with talking(fake_bot, ends, history):
        ends.type(b"/history export\n")
        await until(lambda: bool(fake_bot.messages))
        (asked,) = fake_bot.messages
        document = Document("talk.md", "# Talk\n\n## Question\n\x1b[31mhi\x1b[0m\n")
        reply = OutboundMessage(asked.chat, "Here it is.", reply_to=asked.message_id, document=document)
        for recovered in (True, False):
            assert [sent.last async for sent in fake_bot.platform.send(reply, 1, 0, recovered)] == [True]
    assert ends.printed() == "# Talk\n\n## Question\nhi\n\n"
    assert ends.stderr_text() == "(recovered)\n# Talk\n\n## Question\nhi\n\n"
    assert not (history.parent / "exports").exists()


async def test_long_code_stays_in_the_text(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    code = "```python\n" + "print('line')\n" * 2_000 + "```"
    async with talking(fake_bot, ends, history):
        ends.type(b"code\n")
        await until(lambda: bool(fake_bot.messages))
        (asked,) = fake_bot.messages
        reply = OutboundMessage(asked.chat, code, reply_to=asked.message_id, attached="{name} is attached.")
        assert [sent.last async for sent in fake_bot.platform.send(reply, 1, 0, False)] == [True]
    assert ends.printed() == f"{code}\n\n"


async def test_piped_exit_is_a_normal_message(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"exit\nmore\n")
    await talk(fake_bot, ends, history)
    assert fake_bot.texts == ["exit", "more"]


def _opened(name: str) -> TextIO:
    return open(name)


async def test_files_dev_null_and_buffers_are_inputs(ends: Ends, history: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"\xef\xbb\xbfone\ntwo")
    for name, expected in ((str(tmp_path / "lines"), ["one", "two"]), (os.devnull, [])):
        fake_bot = FakeBot()
        with _opened(name) as stdin:
            assert await talk(fake_bot, ends, history, stdin) == 0
        assert fake_bot.texts == expected
    fake_bot = FakeBot()
    assert await talk(fake_bot, ends, history, StringIO("in memory\n")) == 0
    assert fake_bot.texts == ["in memory"]


async def test_invalid_utf_8_is_replaced(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"caf\xe9 \xf0\x9f\x98\x80\nnext\n")
    await talk(fake_bot, ends, history)
    assert fake_bot.texts == ["caf� 😀", "next"]


async def test_lines_and_replies_longer_than_the_pipe_buffer(ends: Ends, history: Path, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * 1_000_000 + "\nshort")
    fake_bot = FakeBot()
    reading = asyncio.create_task(asyncio.to_thread(_rest, ends.reading))
    with _opened(str(tmp_path / "long")) as stdin:
        assert await talk(fake_bot, ends, history, stdin) == 0
    ends.drop(ends.stdout)
    assert await reading == f"You said {'x' * 1_000_000}\n\nYou said short\n\n"


async def test_control_sequences_are_removed_in_both_directions(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: "red \x1b[31mtext\x1b[0m\x1b]0;title\x07\r\nand\ta\x9b2J bell\x07 \ud800")
    ends.type(b"\x1b[1mbold\x1b[0m\0\n\x00\n")
    await talk(fake_bot, ends, history)
    assert fake_bot.texts == ["bold"]
    assert ends.printed() == "red text\nand\ta bell �\n\n"


async def test_replies_to_earlier_runs_stay_off_stdout(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    earlier = InboundMessage(
        UserKey("console", "ann"), ChatKey("console", "ann"), "console", "old", "?", 0.0, message_id="old"
    )
    async with talking(fake_bot, ends, history):
        await fake_bot.reply(earlier, "early", recovered=True)
        ends.type(b"one\n")
        await until(lambda: bool(fake_bot.messages))
        await fake_bot.reply(earlier, "resumed")
        await fake_bot.reply(fake_bot.messages[0], "again", recovered=True)
        await fake_bot.reply(fake_bot.messages[0], "mine")
    assert ends.printed() == "mine\n\n"
    assert ends.stderr_text() == "(recovered)\nearly\n\nresumed\n\n(recovered)\nagain\n\n"


async def test_a_notice_is_not_taken_for_the_reply(ends: Ends, history: Path) -> None:
    """For example the notice that nothing can be saved at the moment."""
    fake_bot = FakeBot(lambda _: None)
    async with talking(fake_bot, ends, history):
        ends.type(b"one\n")
        await until(lambda: bool(fake_bot.messages))
        message = fake_bot.messages[0]
        notice = OutboundMessage(message.chat, "the disk is full", reply_to=message.message_id)
        assert [sent.last async for sent in fake_bot.platform.send(notice, 0, 0, False)] == [True]
        await fake_bot.reply(message, "mine")
    assert (ends.printed(), ends.stderr_text()) == ("mine\n\n", "the disk is full\n\n")


async def test_what_follows_a_pressed_answer_is_not_taken_for_the_next_reply(ends: Ends, history: Path) -> None:
    """For example a spoken answer, which comes when the next line is read already."""
    fake_bot = FakeBot(lambda _: None)
    async with talking(fake_bot, ends, history):
        ends.type(b"/whoami\n")
        await until(lambda: bool(fake_bot.messages))
        message = fake_bot.messages[0]
        spoken = OutboundMessage(message.chat, "spoken", apart=True)
        assert [sent.last async for sent in fake_bot.platform.send(spoken, 1, 0, False)] == [True]
        await fake_bot.reply(message, "mine")
    assert (ends.printed(), ends.stderr_text()) == ("mine\n\n", "spoken\n\n")


async def test_an_unanswered_message_prints_an_empty_reply(ends: Ends, history: Path) -> None:
    async def unanswered(message: InboundMessage) -> None:
        if not message.text.startswith("ignored"):
            await asyncio.Event().wait()

    fake_bot = FakeBot(lambda text: None if text == "ignored" else text)
    ends.type(b"ignored\nsecond\n")
    assert await talk(fake_bot, ends, history, unanswered=unanswered) == 0
    assert ends.printed() == "\nsecond\n\n"


async def test_nothing_is_shown_before_the_reply(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    async with talking(fake_bot, ends, history):
        ends.type(b"one\n")
        await until(lambda: bool(fake_bot.messages))
        live = fake_bot.platform.live(fake_bot.messages[0], "", True, kept)
        await live.working()
        live.show("so far")
        await live.acknowledge("yes")
        await fake_bot.platform.waiting(fake_bot.messages[0])
        assert await live.close() == ""
        await fake_bot.reply(fake_bot.messages[0], "whole")
    assert ends.printed() == "whole\n\n"
    assert ends.stderr_text() == ""


async def test_a_reply_that_was_sent_is_not_printed_again(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.type(b"")
    await talk(fake_bot, ends, history)
    reply = OutboundMessage(ChatKey("console", "ann"), "again")
    assert [sent.last async for sent in fake_bot.platform.send(reply, 7, 1, True)] == [True]
    assert ends.printed() == ends.stderr_text() == ""


async def test_attachments_are_not_supported(ends: Ends, history: Path) -> None:
    platform = FakeBot().connect(*ends.streams(), history)
    with pytest.raises(Refused, match="plan"):
        await platform.fetch(Attachment("other", "plan.pdf", "", 0, ""))
