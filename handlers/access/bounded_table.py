"""A size-bounded table, so that attackers with many accounts can't exhaust memory."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

MAX_ENTRIES = 10_000
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the `most` newest entries and drops the oldest."""

    def __init__(self, most: int = MAX_ENTRIES) -> None:
        self._most = most
        self._entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        return self._entries.get(key)

    def __len__(self) -> int:
        return len(self._entries)

    def drop(self, key: K) -> None:
        self._entries.pop(key, None)

    def put(self, key: K, value: V) -> None:
        """Stores the value as the newest entry."""
        self._entries.pop(key, None)
        self._entries[key] = value
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]
