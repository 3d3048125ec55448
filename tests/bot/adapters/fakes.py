"""Stored state and log lines of a platform under test."""

from __future__ import annotations

import logging
from collections.abc import Callable


class States:
    """A StateStore in memory; `changed` is called after each change."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.changed: Callable[[], None] = lambda: None

    async def get(self, key: str) -> str | None:
        return self.kept.get(key)

    async def put(self, key: str, value: str | None) -> None:
        if value is None:
            self.kept.pop(key, None)
        else:
            self.kept[key] = value
        self.changed()


class Bell(logging.Handler):
    """Records log lines, and wakes tests that wait on the server."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        self._changed()
