"""A terminal emulator: what a program's output shows, with colours."""

from __future__ import annotations

import re
from itertools import groupby

from rich.text import Text

_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[^\[]|([\r\n\b])|([^\x00-\x1f\x1b]+)")
"""A control sequence with its numbers and letter, another escape, a movement, or text."""
Cell = tuple[str, str]
"""A character and the style sequences in effect."""


class Screen:
    """The lines ever shown, the oldest first; nothing scrolls away. Knows the sequences that prompt_toolkit and rich
    write, and takes every character for one column wide."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._rows: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._style = ""

    def feed(self, text: str) -> None:
        """Show what was written. A control sequence must not be cut in two."""
        for numbers, letter, movement, shown in _PIECE.findall(text):
            if shown:
                for character in shown:
                    self._put(character)
            elif movement:
                self._move(movement)
            elif letter:
                self._control(numbers, letter)

    def text(self) -> Text:
        """The lines with their styles, without the empty space around them."""
        lines = [_written(row) for row in self._rows]
        return Text("\n").join(Text.from_ansi(line) if line else Text() for line in lines)

    def _put(self, character: str) -> None:
        if self._column >= self.columns:
            self._move("\r")
            self._move("\n")
        self._fill()
        self._rows[self._row][self._column : self._column + 1] = [(character, self._style)]
        self._column += 1

    def _move(self, how: str) -> None:
        match how:
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case _:
                self._row += 1
                if self._row == len(self._rows):
                    self._rows.append([])

    def _control(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() and int(numbers) else 1
        match letter:
            case "m":
                self._style = "" if numbers in ("", "0") else f"{self._style}\x1b[{numbers}m"
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._row = min(len(self._rows) - 1, self._row + count)
            case "C":
                self._column = min(self.columns - 1, self._column + count)
            case "D":
                self._column = max(0, self._column - count)
            case "J" | "K":
                del self._rows[self._row][self._column :]
                if letter == "J":
                    del self._rows[self._row + 1 :]

    def _fill(self) -> None:
        row = self._rows[self._row]
        row.extend([(" ", "")] * (self._column - len(row)))


def _written(row: list[Cell]) -> str:
    """A row as text with its control sequences."""
    runs = (
        (style, "".join(character for character, _ in cells)) for style, cells in groupby(row, lambda cell: cell[1])
    )
    return "".join(f"{style}{text}\x1b[0m" if style else text for style, text in runs).rstrip()
