"""Pure parts of the terminal: completion, escaping, Markdown, spinner."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory

from bot.adapters.console.completion import CommandCompleter, forget_line
from bot.adapters.console.hints import CommandHint, typed_equivalent
from bot.adapters.console.markdown import dim, rendered
from bot.adapters.console.printable import one_line, printable
from bot.adapters.console.speaker import ConsoleUser
from bot.adapters.console.views import LINGER_SECONDS, Views
from bot.rendering import formulas
from bot.terminal import hints
from handlers.languages import Say
from routing.catalog.catalog import BUNDLED, Catalog
from routing.catalog.ollama import RunningOllama
from routing.config.jsonfile import parse
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.types.messages import Button
from tests.bot.adapters.console.fake_bot import COMMANDS
from tests.fakes import ManualClock

SPEAKER = ConsoleUser("ann", ManualClock())
STYLE = re.compile(r"\x1b\[[0-9;]*m")
PIECES = [
    "**",
    "_",
    "`",
    "```",
    "\n",
    "\n\n",
    "[",
    "](http://x)",
    "![",
    "<b>",
    "</kbd>",
    "| a | b |\n|---|---|\n",
]
PIECES += [
    "| ",
    "- ",
    "1. ",
    "    ",
    "> ",
    "# ",
    "~~",
    "---\n",
    "word ",
    "&#27;",
    "\x1b[2J",
    "<http://u/%1b>",
    "漢",
]


def completions(commands: Sequence[CommandHint], typed: str) -> list[Completion]:
    return list(CommandCompleter(commands, SPEAKER).get_completions(Document(typed), CompleteEvent()))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        ("hello", []),
        ("hello /t", []),
        ("/", ["/tier", "/tools", "/stop"]),
        ("/T", ["/tier", "/tools"]),
        ("/x", []),
        ("/tier ", ["auto", "balanced", "smart"]),
        ("/TIER  S", ["smart"]),
        ("/tier smart ", ["force"]),
        ("/tier smart force ", []),
        ("/tools ", []),
        ("/tier\n", []),
    ],
)
def test_completions(typed: str, words: list[str]) -> None:
    found = completions(COMMANDS, typed)
    assert [each.text for each in found] == words
    assert all(typed[len(typed) + each.start_position :].lower() == each.text[: -each.start_position] for each in found)


def test_a_completion_replaces_the_typed_part_of_a_word() -> None:
    found = CommandCompleter(COMMANDS, SPEAKER).get_completions(Document("/tier SM and more", 8), CompleteEvent())
    assert [(each.text, each.start_position) for each in found] == [("smart", -2)]
    (tools,) = CommandCompleter(COMMANDS, SPEAKER).get_completions(Document("/to"), CompleteEvent())
    assert (tools.text, tools.start_position, tools.display_meta_text) == ("/tools", -3, "what I can use")


def test_each_button_is_listed_once() -> None:
    one, two = Button("1", "/tier smart"), Button("2", "/tier deep")
    assert typed_equivalent(((one, two), (one,))) == "/tier smart · /tier deep"
    assert typed_equivalent(()) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;never ended\nnext", "]0;never ended\nnext"),
        ("\x1b\x1b[1m[2Jx", "[2Jx"),
        ("\x9b2Jx\x90dcs\x9cy", "xy"),
        ("\ud83d\ude00 \ud800", "😀 �"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_a_note_is_short() -> None:
    assert one_line("a\nb  c") == "a b c"
    assert one_line("x" * 61) == "x" * 59 + "…"


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.sampled_from([20, 40, 80]))
def test_only_style_sequences_reach_the_terminal(text: str, width: int) -> None:
    plain = STYLE.sub("", rendered(text, width))
    assert printable(plain) == plain


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Tier: balanced, Force: off\nwhy", ["Tier: balanced, Force: off", "why"]),
        ("vector<int> and <b>bold</b>", ["vector<int> and <b>bold</b>"]),
        ("<div>\nblock\n</div>", ["<div>", "block", "</div>"]),
        ("![plan](p.png)", ["plan (p.png)"]),
        ("[here](http://a.example)", ["here (http://a.example)"]),
        ("<http://a.example>", ["http://a.example"]),
        ("**bold** `code`", ["bold code"]),
    ],
)
def test_nothing_written_is_lost(text: str, lines: list[str]) -> None:
    assert STYLE.sub("", rendered(text, 60)).splitlines() == lines


def test_a_long_word_in_a_table_is_broken_not_cut() -> None:
    shown = STYLE.sub("", rendered(f"| a | b |\n|---|---|\n| 1 | {'x' * 90} |", 40))
    assert shown.count("x") == 90
    assert "…" not in shown


def test_lines_are_not_padded() -> None:
    assert re.search(r" +(\x1b\[0m)?\n", rendered("a\n\n- b\n\n```\nc\n```", 60)) is None
    assert STYLE.sub("", dim("note", 60)) == "note\n"


async def test_a_view_is_visible_from_its_first_text_to_its_reply() -> None:
    clock = ManualClock()
    views = Views(clock)
    view = views.new(streaming=True)
    assert not views.shown.is_set()
    assert views.status(Say("en")) == ""
    await view.working()
    clock.now += 3.9
    assert views.shown.is_set()
    assert views.answering
    assert "thinking… 3 s" in views.status(Say("en"))
    view.show("so far")
    await view.close()
    assert views.text == "so far"
    assert not views.answering
    assert views.status(Say("en")) == ""
    clock.now += LINGER_SECONDS / 2
    views.drop_closed(LINGER_SECONDS)
    assert views.text == "so far"
    views.drop_closed()
    assert views.text == ""
    assert not views.shown.is_set()


async def test_a_view_closed_before_it_was_seen_is_never_seen() -> None:
    views = Views(ManualClock())
    view = views.new(streaming=True)
    assert await view.close() == ""
    view.show("too late")
    assert not views.shown.is_set()
    assert views.text == ""


def test_the_prompt_completes_the_models_that_can_be_called() -> None:
    config = read_config(parse("{}", "test"), {"openai": "sk"}, {})
    models = Models(config, Catalog.load(BUNDLED))
    words = [each.text for each in completions(hints(models), "/model smart o")]
    assert "openai/gpt-5.1" in words
    assert not completions(hints(models), "/model smart a")
    keyless = Models(read_config(parse("{}", "test"), {}, {}), models.catalog)
    keyless.running = RunningOllama("ollama/odd:3b", frozenset(["odd:3b"]))
    assert completions(hints(keyless), "/model smart o")[0].text == "ollama/odd:3b"


def test_formulas_prices_and_products_in_the_terminal() -> None:
    text = r"$x$ and \(\frac{a}{b}\) cost $5 or $10: 2*3*4, `\(a\)`, $$\sqrt{n}$$"
    shown = STYLE.sub("", rendered(text, 70)).strip()
    assert shown == r"x and a/b cost $5 or $10: 2*3*4, \(a\), √n"
    assert STYLE.sub("", rendered("α*β*γ", 70)).strip() == "α*β*γ"


@pytest.mark.parametrize("error", [IndexError, ValueError])
def test_what_the_converter_refuses_is_shown_as_written(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(*given: object) -> None:
        raise error("odd")

    monkeypatch.setattr(formulas._converter(), "convert", refuse)
    assert STYLE.sub("", rendered(r"$x^2$ is $\sqrt{4}$ or **4**", 70)).strip() == r"x^2 is \sqrt{4} or 4"
    monkeypatch.setattr("bot.adapters.console.markdown.parse", refuse)
    assert STYLE.sub("", rendered("$x$ is **4**", 70)).strip() == "$x$ is **4**"


def test_a_password_leaves_the_history_file(tmp_path: Path) -> None:
    path = tmp_path / "history"
    store = FileHistory(str(path))
    for line in ("/connect calendar", "my\npassword", "hello"):
        store.store_string(line)
    forget_line(path, "my\npassword")
    forget_line(path, "never typed")
    forget_line(tmp_path / "missing", "x")
    assert list(FileHistory(str(path)).load_history_strings()) == ["hello", "/connect calendar"]
