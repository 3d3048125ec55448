"""Text that is safe to print: nothing moves the cursor, changes the title or queries the terminal."""

from __future__ import annotations

import re

from routing.text import shortened

_BREAKS = re.compile(r"\r\n?|[\u2028\u2029]")
# ECMA-48: CSI parameters and final byte; OSC, DCS, SOS, PM and APC strings up to their end on the same line.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """The text without escape sequences and control characters except newline and tab; encodable as UTF-8."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", _SEQUENCES.sub("", _BREAKS.sub("\n", text)))


def one_line(text: str, longest: int = 60) -> str:
    """The beginning of the text on one line, for a note about it."""
    return shortened(" ".join(printable(text).split()), longest)
