"""What a command printed: bounded in memory, fit to be shown."""

from __future__ import annotations

import re

MOST_BYTES = 10_000_000
"""Of output before the command is ended: no person reads more, and a small machine should not carry it."""
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Transcript:
    """Keeps the first and the last bytes of a stream, `kept` together, and counts what lay between."""

    def __init__(self, kept: int) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._head_room, self._tail_room = kept - kept // 2, kept // 2
        self.total = 0

    @property
    def overflowing(self) -> bool:
        """More than anybody reads."""
        return self.total > MOST_BYTES

    def add(self, chunk: bytes) -> None:
        """The next bytes of the stream."""
        self.total += len(chunk)
        room = self._head_room - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(len(self._tail) - self._tail_room, 0)]

    def text(self) -> str:
        """What was kept, with the size of the gap where it was."""
        left_out = self.total - len(self._head) - len(self._tail)
        if not left_out:
            return shown(bytes(self._head + self._tail))
        return f"{shown(bytes(self._head))}\n[{left_out} bytes left out]\n{shown(bytes(self._tail))}"


def shown(data: bytes) -> str:
    """UTF-8 with replacement; colours and cursor movements are taken away, a carriage return is a line break."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))
