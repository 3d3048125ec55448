"""Hints for typing: commands with their choices, and the commands of buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from routing.types.messages import Button

PRESS = "/press"
"""Terminal command that presses a button of the newest reply, for buttons without a command."""


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command as the prompt completes it; `name` without a slash, `choices` by argument."""

    name: str
    summary: str
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What only a prompt needs. It saves documents in the folder `exports` beside `history_file`, and shows `notice`
    below its banner."""

    history_file: Path
    commands: tuple[CommandHint, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that can replace the last `replaces` characters."""

    word: str
    replaces: int
    summary: str = ""


def suggestions(commands: Sequence[CommandHint], typed: str) -> tuple[Suggestion, ...]:
    """Completions of the text before the cursor; none if it is not a command or the argument is free text."""
    if not typed.startswith("/") or "\n" in typed:
        return ()
    *before, last = re.split(" +", typed[1:])
    if not before:
        begun = len(typed)
        return tuple(Suggestion("/" + each.name, begun, each.summary) for each in _beginning(commands, last))
    for each in commands:
        if each.name.lower() == before[0].lower() and len(before) <= len(each.choices):
            words = [word for word in each.choices[len(before) - 1] if word.lower().startswith(last.lower())]
            return tuple(Suggestion(word, len(last)) for word in words)
    return ()


def typed_instead(buttons: Iterable[Iterable[Button]]) -> str:
    """What to type instead of pressing a button: its command, or `/press` and its number."""
    typed = {button.command: button.command for row in buttons for button in row if not button.press_only}
    numbers = (f"{PRESS} {number} ({label})" for number, (_, label) in enumerate(press_only(buttons), 1))
    return " · ".join((*typed, *numbers))


def press_only(buttons: Iterable[Iterable[Button]]) -> tuple[tuple[tuple[int, int], str], ...]:
    """Position (row, column) and label of each button without a command."""
    return tuple(
        ((at, column), button.label)
        for at, row in enumerate(buttons)
        for column, button in enumerate(row)
        if button.press_only
    )


def _beginning(commands: Sequence[CommandHint], begun: str) -> list[CommandHint]:
    return [each for each in commands if each.name.lower().startswith(begun.lower())]
