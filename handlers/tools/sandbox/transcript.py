"""What a command printed: bounded in memory, fit to be shown."""

from __future__ import annotations

import codecs
import re

from handlers.tools.sandbox.limits import Cut

MOST_BYTES = 10_000_000
"""Of output before the command is ended: no person reads more, and a small machine should not carry it."""
TAIL_SHARE = 9
"""One part in so many is kept of the end, where programs say what went wrong."""
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Transcript:
    """Keeps the first and the last characters of a stream of UTF-8, `kept` together, and counts all of them."""

    def __init__(self, kept: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head, self._tail = "", ""
        self._tail_room = kept // TAIL_SHARE
        self._head_room = kept - self._tail_room
        self.bytes, self.chars = 0, 0

    @property
    def overflowing(self) -> bool:
        """More than anybody reads."""
        return self.bytes > MOST_BYTES

    def add(self, chunk: bytes) -> None:
        """The next bytes of the stream."""
        self.bytes += len(chunk)
        self._keep(self._decoder.decode(chunk))

    def told(self) -> tuple[str, Cut | None]:
        """The stream is over: what was kept, with the size of the gap where it was; the cut, if there was one."""
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
    """Without colours and cursor movements; a carriage return is a line break."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))
