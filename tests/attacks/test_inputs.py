"""No input blocks the event loop: time is linear in the length of the text."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest

from bot.adapters.console import markdown
from bot.adapters.console.printable import printable
from bot.observability.logs import Redactor
from bot.rendering import code_files, discord, telegram
from bot.rendering.plain import columns
from handlers.access.codes import read_code
from handlers.languages import Say
from handlers.parsing import parse_command
from handlers.replies.export import exported
from handlers.replies.fences import fenced
from routing.config import jsonfile
from routing.council.ballots import read_ballot
from routing.critic.verdict import parse_verdict
from routing.errors import ConfigError, Refused
from routing.llm.error_mapping import map_error
from routing.llm.message_codec import adapt
from routing.policy.auto.preprocessing import preprocess
from routing.policy.tiers import split_prefix
from routing.tools.selection.clauses import clauses
from routing.tools.selection.words import words
from routing.turn.compaction import transcript
from routing.turn.context_window import Window
from routing.turn.truncation import shorten_arguments, shrink_to_fit
from routing.types.history import Conversation, StoredMessage
from routing.types.llm import ChatMessage, ProviderProfile, Speaker, ToolCall, ToolSpec
from routing.types.messages import ChatKey
from tests.attacks.growth import superlinear
from tests.attacks.patterns import ANCHORED, Used, attempts, used


def _work(each: Used, method: str, begun: str, text: str) -> Any:
    pattern, is_bytes = each.pattern, isinstance(each.pattern.pattern, bytes)

    def work(size: int) -> object:
        given: Any = begun + (text * (size // len(text) + 1))[:size] + "\x00"
        if is_bytes:
            given = given.encode("utf-8", "surrogatepass")
        if method == "match":
            return pattern.match(given), pattern.fullmatch(given)
        return sum(1 for _ in pattern.finditer(given))

    return work


@pytest.mark.parametrize("each", used(), ids=lambda each: each.where)
def test_every_pattern_is_linear(each: Used) -> None:
    bad = []
    for method in {"match" if name in ANCHORED else "search" for name in each.methods}:
        for begun, text in attempts(each.pattern):
            if why := superlinear(_work(each, method, begun, text)):
                bad.append(f"{method} of {begun!r} + {text!r} × n: {why}")
                break
    assert not bad, f"{each.where} {each.pattern.pattern!r}\n" + "\n".join(bad)


def _message(text: str, role: Speaker = "user") -> ChatMessage:
    return ChatMessage(role, text)


def _tool_round(text: str) -> list[ChatMessage]:
    call = ToolCall("c1", "read_file", text)
    return [_message("q"), ChatMessage("assistant", "", calls=(call,)), ChatMessage("tool", text, call_id="c1")]


def _export(text: str) -> object:
    said = [
        StoredMessage(1, "user", text, 0.0),
        StoredMessage(2, "assistant", text, 0.0, calls=(ToolCall("c", "t", text),)),
    ]
    return exported(Conversation(1, ChatKey("telegram", "1"), 0.0), said, UTC, Say("en"))


def _config(text: str) -> object:
    try:
        return jsonfile.parse(f'{{"a": [{text}]}}', "x")
    except ConfigError:
        return None


def _prefix(text: str) -> object:
    try:
        return split_prefix(text), split_prefix(f"!smart{text}")
    except Refused:
        return None


_OPENAI = ProviderProfile("openai", "openai", None, "sk-test-1234567890", 60.0, "OPENAI_API_KEY")
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "telegram": telegram.pieces,
    "telegram preview": telegram.preview,
    "discord": discord.pieces,
    "discord preview": discord.preview,
    "code files": lambda text: code_files.with_code_files(f"{text}```py\n{text}", "{name}", 10, len),
    "terminal": lambda text: markdown.rendered(text, 80),
    "columns": columns,
    "export": _export,
    "fence": fenced,
    "wire with tools": lambda text: adapt(_tool_round(text), "openai/m", [ToolSpec("read_file", text, {})]),
    "wire as text": lambda text: adapt(_tool_round(text), "openai/m"),
    "compaction": lambda text: transcript([_message(text)] * 3 + _tool_round(text), 20_000),
    "squeeze": lambda text: shrink_to_fit([_message(text)] * 3, Window(2_000, 2_000)),
    "arguments cut": lambda text: shorten_arguments(json.dumps({"a": text, "b": text}), 100),
    "verdict": lambda text: (
        parse_verdict(text),
        parse_verdict(json.dumps({"doubt": True, "why": text})),
        parse_verdict(f"```{text}```"),
    ),
    "ballot": lambda text: read_ballot(text, "A", ["A", "B"]),
    "command": lambda text: (parse_command(text, "bot"), parse_command(f"/retry {text}", "bot")),
    "prefix": _prefix,
    "code": read_code,
    "choice of tier": preprocess,
    "clauses": clauses,
    "words": words,
    "provider error": lambda text: map_error(ValueError(text), "openai/m", _OPENAI),
    "log": Redactor(["secret-1"]).clean,
    "terminal text": printable,
    "json": _config,
}
PIECES = (
    " ", "\n", " \n", "a", "1", "a ", ".", "(", "[", "{", "[(", "](", "[a](b) ", "<", "</", "<a", "`", "` ",
    "```\n", "``` `` ` ", "*", "**", "**a** ", "*a", "_a", "||", "|| ", "||a", "| ", "|a|b\n", "-|-\n", "> ",
    "- ", "-", "1. ", "#", "# a\n", "\\", "\\(", "\\(a\\) ", "\\[", "$", "$a$ ", "$$", '"', "'", "{}", '"a":',
    ",", "@", "://", "http://a.b ", "a.", "![a](b)", "[a]: b\n", "[^1]", "~~", "~~a", "&amp;", "🇩🇪", "\u0301",
    "👩\u200d", "漢", "\x1b]", "1,000", "2e^", "((1", "!smart ", "/", ":", "\t", "<tool_result",
    "\\(a\\) $b$ ", "\\(\\frac{a}{b}\\) $$c$$ ", "\\frac{", "$\\sqrt{", "2*3*", "α*β*", "**α**β",
    "|a|b|c|d|\n|-|-|-|-|\n", f"|{'long ' * 12}|b|\n|-|-|\n",
    "\\[\n", "\\[\na\n", "$$\n", "$$a\n\n", "$$a", "[^1]: a\n", "[a", "| a |\n", "\n\n> - ", "&#", "**a*", "~~a ~~",
    "```py\nx = 1\n", "```py\nx = 1\n```\n", "~~~\n", "> ```\n",
)  # fmt: skip


LONG = ("terminal", "telegram preview", "discord preview")
"""They take ten seconds or more, and most of their steps are also those of a finished answer."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow if each in LONG else ()) for each in FUNCTIONS]
)
def test_every_step_is_linear(name: str) -> None:
    grows = {piece: superlinear(_repeated(FUNCTIONS[name], piece), (60, 250, 1_000, 4_000)) for piece in PIECES}
    assert not any(grows.values()), {piece: why for piece, why in grows.items() if why}


def _repeated(work: Callable[[str], object], piece: str) -> Callable[[int], object]:
    return lambda size: work((piece * (size // len(piece) + 1))[:size])
