"""A dictionary of limited size, so that attackers with many accounts or names can't exhaust memory."""

from __future__ import annotations

from typing import TypeVar

MAX_ENTRIES = 10_000
K = TypeVar("K")
V = TypeVar("V")


class Bounded(dict[K, V]):
    """Setting an entry makes it the newest; above `most` entries the oldest is dropped."""

    def __init__(self, most: int = MAX_ENTRIES) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]
