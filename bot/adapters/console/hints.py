"""What can be typed: commands with their choices, leaving, and the commands of buttons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from routing.text import nearest
from routing.types.messages import Button

LEAVE_NAMES = ("exit", "quit")
LEAVE = tuple(f"/{name}" for name in LEAVE_NAMES)
PRESS = "/press"
"""Presses a button without a command in the newest reply."""


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command as the prompt completes it; `name` without a slash, `choices` by argument."""

    name: str
    summary: str
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """Files are saved in the folder `exports` beside `history_file`. `notice` is shown below the banner."""

    history_file: Path
    commands: tuple[CommandHint, ...] = ()
    notice: str = ""

    @property
    def exports(self) -> Path:
        return self.history_file.parent / "exports"


def is_mistyped_exit(line: str, commands: Sequence[CommandHint]) -> bool:
    """Whether the line is closer to /exit or /quit than to any other command."""
    known = (*LEAVE_NAMES, *(each.name for each in commands))
    return line.startswith("/") and nearest(line[1:], known) in LEAVE_NAMES


def typed_equivalent(buttons: Iterable[Iterable[Button]]) -> str:
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
