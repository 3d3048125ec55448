"""What can be typed next: commands with the choices of their places, and the commands behind buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from routing.types.messages import Button

PRESS = "/press"
"""Presses a button of the newest reply that has such; known in a terminal alone."""


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command as the prompt completes it; `name` has no slash, `choices` are the words valid at each place."""

    name: str
    summary: str
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that may stand instead of the last `replaces` characters."""

    word: str
    replaces: int
    summary: str = ""


def suggestions(commands: Sequence[CommandHint], typed: str) -> tuple[Suggestion, ...]:
    """What may follow the text before the cursor; () when that is no command, or takes anything at this place."""
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
    """The commands of the buttons, for somebody who has none to press; empty without buttons. What only a button does
    is pressed by its number."""
    typed = {button.command: button.command for row in buttons for button in row if not button.press_only}
    numbers = (f"{PRESS} {number} ({label})" for number, (_, label) in enumerate(press_only(buttons), 1))
    return " · ".join((*typed, *numbers))


def press_only(buttons: Iterable[Iterable[Button]]) -> tuple[tuple[tuple[int, int], str], ...]:
    """Row, column and label of the buttons whose commands can't be typed, in their order."""
    return tuple(
        ((at, column), button.label)
        for at, row in enumerate(buttons)
        for column, button in enumerate(row)
        if button.press_only
    )


def _beginning(commands: Sequence[CommandHint], begun: str) -> list[CommandHint]:
    return [each for each in commands if each.name.lower().startswith(begun.lower())]
