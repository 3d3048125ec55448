"""Questions in the terminal."""

from __future__ import annotations

import shutil
import sys
import termios
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, cast

import questionary
from questionary import Choice, Question, Style

from handlers.languages import Say

_STYLE = Style([("qmark", "fg:ansicyan"), ("question", "bold"), ("pointer", "fg:ansicyan"), ("answer", "fg:ansicyan")])


class Prompts(Protocol):
    """Asks one question at a time. Ctrl-C raises KeyboardInterrupt."""

    async def text(self, question: str, default: str = "") -> str:
        """A line of text, without blanks around it."""

    async def secret(self, question: str) -> str:
        """The same, not shown while it is typed."""

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        """The key of one of the choices; the first is selected at the beginning."""


def show(text: str) -> None:
    """Print lines that break between words, never inside an address."""
    width = shutil.get_terminal_size().columns
    for line in text.split("\n"):
        print(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False), flush=True)


@contextmanager
def without_echo() -> Iterator[None]:
    """Show nothing that is typed while no question is open, because it may be a secret that was pasted too early."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = list(before)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class TerminalPrompts:
    """`Prompts` with questionary."""

    def __init__(self, say: Say) -> None:
        self.say = say

    async def text(self, question: str, default: str = "") -> str:
        return await _answer(questionary.text(question, default=default, style=_STYLE))

    async def secret(self, question: str) -> str:
        return await _answer(questionary.password(question, style=_STYLE))

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        listed = [Choice(title, value=key) for key, title in choices.items()]
        instruction = self.say("(arrow keys, then Enter)")
        return await _answer(questionary.select(question, listed, style=_STYLE, instruction=instruction))


async def _answer(question: Question) -> str:
    return cast(str, await question.unsafe_ask_async()).strip()
