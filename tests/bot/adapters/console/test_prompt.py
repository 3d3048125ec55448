"""The prompt, driven by keys through a pipe and checked by the terminal's output."""

from __future__ import annotations

import asyncio
from io import StringIO
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from routing.errors import StorageFault
from routing.types.messages import Button
from tests.bot.adapters.console.fake_bot import TIMEOUT_SECONDS, FakeBot, kept
from tests.bot.adapters.console.terminal import COLUMNS, ROWS, at_prompt, mode
from tests.keyboard import CTRL_C, ENTER, Tty
from tests.polling import until


async def test_a_conversation(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        assert "/help" in terminal.shown
        assert "Ctrl-D" in terminal.shown
        assert "Alt-Enter: new line" in terminal.shown
        terminal.type("hello" + ENTER)
        await terminal.sees("You said hello")
        terminal.type("   " + ENTER + "again" + ENTER)
        await terminal.sees("You said again")
        assert await terminal.leaves() == 0
        assert terminal.fake_bot.texts == ["hello", "again"]
        assert terminal.fake_bot.failures == []


async def test_the_notice_is_shown_below_the_banner(history: Path) -> None:
    fake_bot = FakeBot()
    fake_bot.notice = "Demo model: don't rely on it."
    async with at_prompt(fake_bot, history) as terminal:
        await terminal.sees(fake_bot.notice)
        assert terminal.shown.index(fake_bot.notice) > terminal.shown.index("Ctrl-D")


async def test_exit_leaves(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type(" Exit " + ENTER)
        assert await terminal.ends() == 0
        assert terminal.fake_bot.texts == []


async def test_a_mistyped_exit_suggests_exit(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("/exitt" + ENTER)
        await terminal.sees("There is no command /exitt. Did you mean /exit?")
        terminal.type("/ex")
        await terminal.sees("Leave the terminal")
        terminal.type("it" + ENTER)
        assert await terminal.ends() == 0
        assert terminal.fake_bot.texts == []


async def test_stopping_ends_the_prompt_while_text_is_typed(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("half a li")
        await terminal.sees("half a li")
        await terminal.fake_bot.platform.stop_receiving()
        assert await terminal.ends() == 0


async def test_a_stop_before_the_prompt_starts_is_honoured(history: Path) -> None:
    fake_bot = FakeBot()
    with (
        create_pipe_input() as keys,
        create_app_session(input=keys, output=Vt100_Output(StringIO(), lambda: Size(ROWS, COLUMNS), term="xterm")),
    ):
        platform = fake_bot.connect(Tty(), Tty(), Tty(), history)
        await platform.start()
        run = asyncio.create_task(platform.run())
        await asyncio.sleep(0)
        await platform.stop_receiving()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert await run == 0


async def test_control_c_without_an_answer(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("a mistake" + CTRL_C + "better" + ENTER)
        await terminal.sees("You said better")
        assert "Ctrl-D to quit." not in terminal.shown
        terminal.type(CTRL_C)
        await terminal.sees("Ctrl-D to quit.")
        assert terminal.fake_bot.texts == ["better"]


async def test_control_c_stops_the_answer(history: Path) -> None:
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("question" + ENTER)
        await until(lambda: terminal.fake_bot.texts == ["question"])
        live = terminal.fake_bot.platform.live(terminal.fake_bot.messages[0], "", True, kept)
        await live.working()
        terminal.type(CTRL_C)
        await until(lambda: terminal.fake_bot.texts == ["question", "/stop"])
        await live.close()
        terminal.type(CTRL_C)
        await terminal.sees("Ctrl-D to quit.")
        assert terminal.fake_bot.texts == ["question", "/stop"]


async def test_the_spinner_counts_until_the_first_text(history: Path) -> None:
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("question" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        live = terminal.fake_bot.platform.live(terminal.fake_bot.messages[0], "", True, kept)
        await live.working()
        await terminal.sees("thinking… 0 s")
        terminal.fake_bot.clock.now += 14
        await until(lambda: "4 s (still working; Ctrl-C stops it)" in terminal.shown)
        live.show("The **first** words")
        await terminal.sees("The first words")
        await live.close()
        await terminal.fake_bot.reply(terminal.fake_bot.messages[0], "The **last** words")
        await terminal.sees("The last words")


async def test_an_answer_longer_than_the_screen_is_printed_whole(history: Path) -> None:
    text = "\n".join(f"line {number} of it" for number in range(100))
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("question" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        live = terminal.fake_bot.platform.live(terminal.fake_bot.messages[0], "", True, kept)
        live.show(text)
        await terminal.sees("line 99 of it")
        assert "line 50 of it" not in terminal.shown
        await live.close()
        await terminal.fake_bot.reply(terminal.fake_bot.messages[0], text)
        assert text in terminal.shown


async def test_without_streaming_only_the_spinner_is_seen(history: Path) -> None:
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("question" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        live = terminal.fake_bot.platform.live(terminal.fake_bot.messages[0], "", False, kept)
        live.show("half an answer")
        await terminal.sees("thinking…")
        await live.acknowledge("ok")
        await live.close()
        await terminal.fake_bot.reply(terminal.fake_bot.messages[0], "whole")
        assert "half an answer" not in terminal.shown


async def test_the_preview_is_erased_after_enter(history: Path) -> None:
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("one" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        live = terminal.fake_bot.platform.live(terminal.fake_bot.messages[0], "", True, kept)
        live.show("growing")
        await terminal.sees("growing")
        terminal.type("two" + ENTER)
        await until(lambda: terminal.fake_bot.texts == ["one", "two"])
        await terminal.fake_bot.platform.waiting(terminal.fake_bot.messages[1])
        await terminal.sees("queued: two")
        await live.close()
        await terminal.fake_bot.reply(terminal.fake_bot.messages[0], "whole")
        assert "› two\n" in terminal.shown


async def test_a_recovered_answer_comes_above_the_prompt(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("one" + ENTER)
        await terminal.sees("You said one")
        terminal.type("half a li")
        await terminal.sees("half a li")
        await terminal.fake_bot.reply(terminal.fake_bot.messages[0], "of yesterday", recovered=True)
        assert "(recovered)\nof yesterday\n" in terminal.shown
        terminal.type("ne" + ENTER)
        await terminal.sees("You said half a line")


async def test_buttons_become_commands(history: Path) -> None:
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("/tier" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        buttons = (
            (Button("Smart", "/tier smart"), Button("Deep", "/tier deep")),
            (Button("!", "/tier deep"),),
        )
        await terminal.fake_bot.reply(
            terminal.fake_bot.messages[0], "Tier: balanced, Force: off\nbecause", buttons=buttons
        )
        assert "Tier: balanced, Force: off\nbecause\nYou can type: /tier smart · /tier deep\n" in terminal.shown


async def test_a_line_that_cannot_be_saved_is_reported(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.fake_bot.fault = StorageFault("the disk is full")
        terminal.type("one" + ENTER)
        await until(lambda: bool(terminal.errors.getvalue()))
        assert (
            terminal.errors.getvalue() == "Your message could not be saved (the disk is full). Please send it again.\n"
        )
        terminal.fake_bot.fault = None
        await terminal.recalls("one")
        terminal.type(ENTER)
        await terminal.sees("You said one")


async def test_a_pasted_text_is_one_message(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("\x1b[200~first\nsecond\r\nthird\x1b[201~" + ENTER)
        await until(lambda: terminal.fake_bot.texts == ["first\nsecond\nthird"])
        terminal.type("one\x1b\rtwo" + ENTER)
        await until(lambda: terminal.fake_bot.texts[1:] == ["one\ntwo"])


async def test_commands_are_completed(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("/t")
        await terminal.sees("show or set the tier")
        assert "what I can use" in terminal.shown
        assert "Stop the answer" not in terminal.shown
        terminal.type("ier ")
        await terminal.sees("balanced")
        terminal.type("smart" + ENTER)
        await until(lambda: terminal.fake_bot.texts == ["/tier smart"])


async def test_a_model_cannot_reach_the_terminal(history: Path) -> None:
    evil = "\x1b]0;title\x07 &#27;[2J <http://x/%1b]0;a%07> \x9b2J \x1b[2J \x1bc [x](http://x/\x1b[5m) \x07"
    async with at_prompt(FakeBot(lambda _: None), history) as terminal:
        terminal.type("question" + ENTER)
        await until(lambda: bool(terminal.fake_bot.messages))
        before = len(terminal.screen.getvalue())
        live = terminal.fake_bot.platform.live(terminal.fake_bot.messages[0], "", True, kept)
        live.show(f"seen {evil}")
        await terminal.sees("seen ")
        await live.close()
        await terminal.fake_bot.reply(terminal.fake_bot.messages[0], f"{evil}\n\n```\n{evil}\n```\n\nend")
        written = terminal.screen.getvalue()[before:]
        for sequence in ("\x1b]", "\x1b[2J", "\x1bc", "\x1b[5m", "\x07", "\x9b"):
            assert sequence not in written


async def test_the_history_file_is_private(history: Path) -> None:
    async with at_prompt(FakeBot(), history) as terminal:
        terminal.type("remember me" + ENTER)
        await terminal.sees("You said remember me")
    assert mode(history) == 0o600
    async with at_prompt(FakeBot(), history) as terminal:
        await terminal.recalls("remember me")
        terminal.type(ENTER)
        await terminal.sees("You said remember me")


async def test_a_history_that_cannot_be_saved_does_not_stop_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with at_prompt(FakeBot(), tmp_path / "file" / "history") as terminal:
        terminal.type("one" + ENTER)
        await terminal.sees("You said one")


async def test_a_german_terminal_is_german(history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    fake_bot.locale = "de"
    async with at_prompt(fake_bot, history) as terminal:
        assert "tierbot im Terminal · /help zeigt die Befehle · Alt-Enter: neue Zeile" in terminal.shown
        terminal.type("/st")
        await terminal.sees("Bricht die laufende ")
        terminal.type("op" + ENTER)
        await until(lambda: fake_bot.texts == ["/stop"])
        assert fake_bot.messages[0].language == "de", "replies follow it, too"
        live = fake_bot.platform.live(fake_bot.messages[0], "", True, kept)
        await live.working()
        await terminal.sees("denke nach … 0 s")
        fake_bot.clock.now += 11
        await terminal.sees("(noch dabei; Strg-C bricht ab)")
        await live.close()
        buttons = ((Button("Rolle", "/access"),),)
        await fake_bot.reply(fake_bot.messages[0], "Du bist Ann.", recovered=True, buttons=buttons)
        await terminal.sees("(wiederhergestellt)")
        await terminal.sees("Du kannst eingeben: /access")
        await fake_bot.platform.waiting(fake_bot.messages[0])
        await terminal.sees("wartet: /stop")
        terminal.type(CTRL_C)
        await terminal.sees("Zum Beenden /exit eingeben oder Strg-D drücken.")
        fake_bot.fault = StorageFault("Festplatte voll")
        terminal.type("verloren" + ENTER)
        await until(lambda: "ließ sich nicht speichern (Festplatte voll)" in terminal.errors.getvalue())


async def test_the_language_setting_applies_at_once(history: Path) -> None:
    fake_bot = FakeBot()
    async with at_prompt(fake_bot, history) as terminal:
        assert "tierbot in your terminal" in terminal.shown
        fake_bot.language = "de"
        terminal.type("/settings language de" + ENTER)
        await terminal.sees("You said")
        terminal.type(CTRL_C)
        await terminal.sees("Zum Beenden /exit eingeben")
