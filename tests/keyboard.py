"""A terminal's keys, and a stream that claims to be a terminal."""

from __future__ import annotations

from io import StringIO

ENTER, CTRL_C, CTRL_D, UP = "\r", "\x03", "\x04", "\x1b[A"


class Tty(StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True
