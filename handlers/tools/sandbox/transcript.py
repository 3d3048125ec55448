"""Collects a command's output: bounded in memory, safe to display."""

from __future__ import annotations

import codecs
import re

from handlers.tools.sandbox.result import Cut

MAX_BYTES = 10_000_000
"""The command is stopped after this much output."""
TAIL_SHARE = 9
"""One part in this many is kept from the end, where programs report errors."""
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Transcript:
    """Keeps the first and last characters of a UTF-8 stream, `kept` in total, and counts all of them."""

    def __init__(self, kept: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head, self._tail = "", ""
        self._tail_room = kept // TAIL_SHARE
        self._head_room = kept - self._tail_room
        self.bytes, self.chars = 0, 0

    @property
    def overflowing(self) -> bool:
        """Whether the output exceeds the limit."""
        return self.bytes > MAX_BYTES

    def add(self, chunk: bytes) -> None:
        """Adds the next bytes."""
        self.bytes += len(chunk)
        self._keep(self._decoder.decode(chunk))

    def result(self) -> tuple[str, Cut | None]:
        """Ends the stream. Returns the text, with a note in place of the gap, and the cut if there is one."""
        self._keep(self._decoder.decode(b"", final=True))
        left_out = self.chars - len(self._head) - len(self._tail)
        if not left_out:
            return shown(self._head + self._tail), None
        head, tail = shown(self._head), shown(self._tail)
        return f"{head}\n[{left_out} chars left out]\n{tail}", Cut(self.chars, len(head), len(tail))

    def _keep(self, text: str) -> None:
        self.chars += len(text)
        room = self._head_room - len(self._head)
        self._head += text[:room]
        tail = self._tail + text[room:]
        self._tail = tail[max(len(tail) - self._tail_room, 0) :]


def shown(text: str) -> str:
    """Removes colours and cursor movements, and turns carriage returns into line breaks."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))
