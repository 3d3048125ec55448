"""The files that tools and commands add to a reply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from routing.errors import ToolFailed
from routing.text import file_name
from routing.types.messages import OutgoingFile

MAX_FILES = 8
"""Files of one reply."""
MAX_TOTAL_BYTES = 100 * 2**20
"""They are in memory until the reply is stored."""
DEFAULT_MAX_BYTES = 50 * 2**20


class OutgoingFiles:
    """Collects the files of one reply. `most_bytes` is the platform's limit for a file."""

    def __init__(self, most_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.most_bytes = most_bytes
        self._files: list[OutgoingFile] = []

    @property
    def files(self) -> tuple[OutgoingFile, ...]:
        return tuple(self._files)

    def replace(self, files: Iterable[OutgoingFile]) -> None:
        """Collect these instead, which are stored already."""
        self._files = list(files)

    def attach(self, file: OutgoingFile) -> None:
        """Implements `routing.types.tools.Attach`."""
        file = replace(file, name=file_name(file.name))
        if not file.data:
            raise ToolFailed(f"{file.name} is empty, and an empty file can't be sent.")
        if len(file.data) > self.most_bytes:
            raise ToolFailed(too_large(file.name, len(file.data), self.most_bytes))
        if len(self._files) >= MAX_FILES:
            raise ToolFailed(f"Not sent: an answer takes at most {MAX_FILES} files. Put several into an archive.")
        if sum(len(each.data) for each in self._files) + len(file.data) > MAX_TOTAL_BYTES:
            raise ToolFailed(f"Not sent: the files of an answer may have at most {MAX_TOTAL_BYTES // 2**20} MB in all.")
        self._files.append(file)


def too_large(name: str, size: int, most: int) -> str:
    """Why a file can't be sent here, for the model."""
    return (
        f"{name} has {size / 2**20:.1f} MB, and a file sent to this chat may have at most {most // 2**20} MB. Make it "
        "smaller or split it."
    )
