"""Detects commits of other processes and connections, so that stale caches are cleared."""

from __future__ import annotations

from collections.abc import Callable

_UNKNOWN = object()


class OutsideChanges:
    """Compares the database's version in each transaction with the previous one. The first version counts as a
    change."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self._version: object = _UNKNOWN
        self._changed = False

    def listen(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def check(self, version: object) -> None:
        """Compare with a version that changes only when others commit. Runs in the transaction's thread."""
        if version != self._version:
            self._version = version
            self._changed = True

    def reconnected(self, *_event: object) -> None:
        """Forget the version: versions of different connections can't be compared."""
        self._version = _UNKNOWN

    def notify(self) -> None:
        """Call the callbacks after a change. Runs in the event loop, before the transaction's results are used."""
        if self._changed:
            self._changed = False
            for callback in self._callbacks:
                callback()
