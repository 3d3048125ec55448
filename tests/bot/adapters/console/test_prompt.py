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
from tests.bot.adapters.console.desk import PATIENCE, Desk, kept, until
from tests.bot.adapters.console.seat import COLUMNS, CTRL_C, ENTER, ROWS, Tty, mode, seated


async def test_a_conversation(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        assert "/help" in seat.shown
        assert "Ctrl-D" in seat.shown
        assert "Alt-Enter: new line" in seat.shown
        seat.type("hello" + ENTER)
        await seat.sees("You said hello")
        seat.type("   " + ENTER + "again" + ENTER)
        await seat.sees("You said again")
        assert await seat.leaves() == 0
        assert seat.desk.texts == ["hello", "again"]
        assert seat.desk.failures == []


async def test_the_notice_is_shown_below_the_banner(history: Path) -> None:
    desk = Desk()
    desk.notice = "Demo model: don't rely on it."
    async with seated(desk, history) as seat:
        await seat.sees(desk.notice)
        assert seat.shown.index(desk.notice) > seat.shown.index("Ctrl-D")


async def test_exit_leaves(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type(" Exit " + ENTER)
        async with asyncio.timeout(PATIENCE):
            assert await seat.run == 0
        assert seat.desk.texts == []


async def test_a_mistyped_exit_suggests_exit(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("/exitt" + ENTER)
        await seat.sees("There is no command /exitt. Did you mean /exit?")
        seat.type("/ex")
        await seat.sees("Leave the terminal")
        seat.type("it" + ENTER)
        async with asyncio.timeout(PATIENCE):
            assert await seat.run == 0
        assert seat.desk.texts == []


async def test_stopping_ends_the_prompt_while_text_is_typed(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("half a li")
        await seat.sees("half a li")
        await seat.desk.platform.stop_receiving()
        async with asyncio.timeout(PATIENCE):
            assert await seat.run == 0


async def test_a_stop_before_the_prompt_starts_is_honoured(history: Path) -> None:
    desk = Desk()
    with (
        create_pipe_input() as keys,
        create_app_session(input=keys, output=Vt100_Output(StringIO(), lambda: Size(ROWS, COLUMNS), term="xterm")),
    ):
        platform = desk.seat(Tty(), Tty(), Tty(), history)
        await platform.start()
        run = asyncio.create_task(platform.run())
        await asyncio.sleep(0)
        await platform.stop_receiving()
        async with asyncio.timeout(PATIENCE):
            assert await run == 0


async def test_control_c_without_an_answer(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("a mistake" + CTRL_C + "better" + ENTER)
        await seat.sees("You said better")
        assert "Ctrl-D to quit." not in seat.shown
        seat.type(CTRL_C)
        await seat.sees("Ctrl-D to quit.")
        assert seat.desk.texts == ["better"]


async def test_control_c_stops_the_answer(history: Path) -> None:
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("question" + ENTER)
        await until(lambda: seat.desk.texts == ["question"])
        live = seat.desk.platform.live(seat.desk.messages[0], "", True, kept)
        await live.working()
        seat.type(CTRL_C)
        await until(lambda: seat.desk.texts == ["question", "/stop"])
        await live.close()
        seat.type(CTRL_C)
        await seat.sees("Ctrl-D to quit.")
        assert seat.desk.texts == ["question", "/stop"]


async def test_the_spinner_counts_until_the_first_text(history: Path) -> None:
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("question" + ENTER)
        await until(lambda: bool(seat.desk.messages))
        live = seat.desk.platform.live(seat.desk.messages[0], "", True, kept)
        await live.working()
        await seat.sees("thinking… 0 s")
        seat.desk.clock.now += 14
        await until(lambda: "4 s (still working; Ctrl-C stops it)" in seat.shown)
        live.show("The **first** words")
        await seat.sees("The first words")
        await live.close()
        await seat.desk.reply(seat.desk.messages[0], "The **last** words")
        await seat.sees("The last words")


async def test_an_answer_longer_than_the_screen_is_printed_whole(history: Path) -> None:
    text = "\n".join(f"line {number} of it" for number in range(100))
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("question" + ENTER)
        await until(lambda: bool(seat.desk.messages))
        live = seat.desk.platform.live(seat.desk.messages[0], "", True, kept)
        live.show(text)
        await seat.sees("line 99 of it")
        assert "line 50 of it" not in seat.shown
        await live.close()
        await seat.desk.reply(seat.desk.messages[0], text)
        assert text in seat.shown


async def test_without_streaming_only_the_spinner_is_seen(history: Path) -> None:
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("question" + ENTER)
        await until(lambda: bool(seat.desk.messages))
        live = seat.desk.platform.live(seat.desk.messages[0], "", False, kept)
        live.show("half an answer")
        await seat.sees("thinking…")
        await live.acknowledge("ok")
        await live.close()
        await seat.desk.reply(seat.desk.messages[0], "whole")
        assert "half an answer" not in seat.shown


async def test_the_preview_is_erased_after_enter(history: Path) -> None:
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("one" + ENTER)
        await until(lambda: bool(seat.desk.messages))
        live = seat.desk.platform.live(seat.desk.messages[0], "", True, kept)
        live.show("growing")
        await seat.sees("growing")
        seat.type("two" + ENTER)
        await until(lambda: seat.desk.texts == ["one", "two"])
        await seat.desk.platform.waiting(seat.desk.messages[1])
        await seat.sees("queued: two")
        await live.close()
        await seat.desk.reply(seat.desk.messages[0], "whole")
        assert "› two\n" in seat.shown


async def test_a_recovered_answer_comes_above_the_prompt(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("one" + ENTER)
        await seat.sees("You said one")
        seat.type("half a li")
        await seat.sees("half a li")
        await seat.desk.reply(seat.desk.messages[0], "of yesterday", recovered=True)
        assert "(recovered)\nof yesterday\n" in seat.shown
        seat.type("ne" + ENTER)
        await seat.sees("You said half a line")


async def test_buttons_become_commands(history: Path) -> None:
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("/tier" + ENTER)
        await until(lambda: bool(seat.desk.messages))
        buttons = (
            (Button("Smart", "/tier smart"), Button("Deep", "/tier deep")),
            (Button("!", "/tier deep"),),
        )
        await seat.desk.reply(seat.desk.messages[0], "Tier: balanced, Force: off\nbecause", buttons=buttons)
        assert "Tier: balanced, Force: off\nbecause\nYou can type: /tier smart · /tier deep\n" in seat.shown


async def test_a_line_that_cannot_be_saved_is_reported(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.desk.fault = StorageFault("the disk is full")
        seat.type("one" + ENTER)
        await until(lambda: bool(seat.errors.getvalue()))
        assert seat.errors.getvalue() == "Your message could not be saved (the disk is full). Please send it again.\n"
        seat.desk.fault = None
        await seat.recalls("one")
        seat.type(ENTER)
        await seat.sees("You said one")


async def test_a_pasted_text_is_one_message(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("\x1b[200~first\nsecond\r\nthird\x1b[201~" + ENTER)
        await until(lambda: seat.desk.texts == ["first\nsecond\nthird"])
        seat.type("one\x1b\rtwo" + ENTER)
        await until(lambda: seat.desk.texts[1:] == ["one\ntwo"])


async def test_commands_are_completed(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("/t")
        await seat.sees("show or set the tier")
        assert "what I can use" in seat.shown
        assert "Stop the answer" not in seat.shown
        seat.type("ier ")
        await seat.sees("balanced")
        seat.type("smart" + ENTER)
        await until(lambda: seat.desk.texts == ["/tier smart"])


async def test_a_model_cannot_reach_the_terminal(history: Path) -> None:
    evil = "\x1b]0;title\x07 &#27;[2J <http://x/%1b]0;a%07> \x9b2J \x1b[2J \x1bc [x](http://x/\x1b[5m) \x07"
    async with seated(Desk(lambda _: None), history) as seat:
        seat.type("question" + ENTER)
        await until(lambda: bool(seat.desk.messages))
        before = len(seat.screen.getvalue())
        live = seat.desk.platform.live(seat.desk.messages[0], "", True, kept)
        live.show(f"seen {evil}")
        await seat.sees("seen ")
        await live.close()
        await seat.desk.reply(seat.desk.messages[0], f"{evil}\n\n```\n{evil}\n```\n\nend")
        written = seat.screen.getvalue()[before:]
        for sequence in ("\x1b]", "\x1b[2J", "\x1bc", "\x1b[5m", "\x07", "\x9b"):
            assert sequence not in written


async def test_the_history_file_is_private(history: Path) -> None:
    async with seated(Desk(), history) as seat:
        seat.type("remember me" + ENTER)
        await seat.sees("You said remember me")
    assert mode(history) == 0o600
    async with seated(Desk(), history) as seat:
        await seat.recalls("remember me")
        seat.type(ENTER)
        await seat.sees("You said remember me")


async def test_a_history_that_cannot_be_saved_does_not_stop_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with seated(Desk(), tmp_path / "file" / "history") as seat:
        seat.type("one" + ENTER)
        await seat.sees("You said one")


async def test_a_german_terminal_is_german(history: Path) -> None:
    desk = Desk(lambda _: None)
    desk.locale = "de"
    async with seated(desk, history) as seat:
        assert "tierbot im Terminal · /help zeigt die Befehle · Alt-Enter: neue Zeile" in seat.shown
        seat.type("/st")
        await seat.sees("Bricht die laufende ")
        seat.type("op" + ENTER)
        await until(lambda: desk.texts == ["/stop"])
        assert desk.messages[0].language == "de", "replies follow it, too"
        live = desk.platform.live(desk.messages[0], "", True, kept)
        await live.working()
        await seat.sees("denke nach … 0 s")
        desk.clock.now += 11
        await seat.sees("(noch dabei; Strg-C bricht ab)")
        await live.close()
        buttons = ((Button("Rolle", "/access"),),)
        await desk.reply(desk.messages[0], "Du bist Ann.", recovered=True, buttons=buttons)
        await seat.sees("(wiederhergestellt)")
        await seat.sees("Du kannst eingeben: /access")
        await desk.platform.waiting(desk.messages[0])
        await seat.sees("wartet: /stop")
        seat.type(CTRL_C)
        await seat.sees("Zum Beenden /exit eingeben oder Strg-D drücken.")
        desk.fault = StorageFault("Festplatte voll")
        seat.type("verloren" + ENTER)
        await until(lambda: "ließ sich nicht speichern (Festplatte voll)" in seat.errors.getvalue())


async def test_the_language_setting_applies_at_once(history: Path) -> None:
    desk = Desk()
    async with seated(desk, history) as seat:
        assert "tierbot in your terminal" in seat.shown
        desk.language = "de"
        seat.type("/settings language de" + ENTER)
        await seat.sees("You said")
        seat.type(CTRL_C)
        await seat.sees("Zum Beenden /exit eingeben")
