"""Tells caches of the changes of other processes and connections."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

Clear = Callable[[], object]
Forget = Callable[[int], object]
_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class _Cache:
    clear: Clear
    tables: Collection[str]
    forget: Forget | None


class OutsideChanges:
    """SQLite has a version that changes with the commits of others: it is compared in each transaction with the
    previous one, and the first version counts as a change. PostgreSQL names the tables and rows that have changed."""

    def __init__(self) -> None:
        self._caches: list[_Cache] = []
        self._version: object = _UNKNOWN
        self._changed = False

    def __bool__(self) -> bool:
        """Whether there is any cache."""
        return bool(self._caches)

    def listen(self, clear: Clear, tables: Collection[str], forget: Forget | None) -> None:
        self._caches.append(_Cache(clear, tables, forget))

    def check(self, version: object) -> None:
        """Compare with a version that changes only when others commit. Runs in the transaction's thread."""
        if version != self._version:
            self._version = version
            self._changed = True

    def reconnected(self, *_event: object) -> None:
        """Forget the version: versions of different connections can't be compared."""
        self._version = _UNKNOWN

    def notify(self) -> None:
        """Clear everything after a change. Runs in the event loop, before the transaction's results are used."""
        if self._changed:
            self._changed = False
            self.clear()

    def clear(self) -> None:
        """Clear everything, as any row may have changed."""
        for cache in self._caches:
            cache.clear()

    def changed(self, table: str, key: str) -> None:
        """Forget what is cached of a row, or of a table if the key is empty."""
        for cache in self._caches:
            if table not in cache.tables:
                continue
            if key and cache.forget is not None:
                cache.forget(int(key))
            else:
                cache.clear()
