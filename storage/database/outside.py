"""Notices commits of other processes and connections, so that caches forget what may have changed."""

from __future__ import annotations

from collections.abc import Callable

_UNKNOWN = object()


class OutsideChanges:
    """Compares the database's version, as each transaction sees it, with the version before. The first version counts
    as a change."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self._version: object = _UNKNOWN
        self._changed = False

    def listen(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def note(self, version: object) -> None:
        """Compare a version that changes only when others commit. Called in the thread of the transaction."""
        if version != self._version:
            self._version = version
            self._changed = True

    def reconnected(self, *_event: object) -> None:
        """The versions of different connections can't be compared."""
        self._version = _UNKNOWN

    def tell(self) -> None:
        """Call the callbacks if a change was noticed. Called in the event loop, before the results of the
        transaction are used."""
        if self._changed:
            self._changed = False
            for callback in self._callbacks:
                callback()
