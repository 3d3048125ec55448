"""Dictionaries of limited size, so that attackers with many accounts or names can't exhaust memory."""

from __future__ import annotations

from collections.abc import Callable
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


class SizeBounded(dict[K, V]):
    """Like `Bounded`, for values of different size: above `most` in total, the oldest are dropped. `size_of` always
    returns the same for a value; `total` is the sum."""

    def __init__(self, most: int, size_of: Callable[[V], int]) -> None:
        super().__init__()
        self.total = 0
        self._most = most
        self._size_of = size_of

    def __setitem__(self, key: K, value: V) -> None:
        self.take(key)
        super().__setitem__(key, value)
        self.total += self._size_of(value)
        while self.total > self._most:
            self.take(next(iter(self)))

    def take(self, key: K) -> V | None:
        """Remove an entry and return it, if there is one."""
        value = self.pop(key, None)
        if value is not None:
            self.total -= self._size_of(value)
        return value

    def clear(self) -> None:
        super().clear()
        self.total = 0
