"""The last words of a server, for the reason why it failed."""

from __future__ import annotations

from collections.abc import Callable

_KEPT_CHARS = 20_000
"""Enough for the longest secret, a private key or the JSON of a service account: one that is cut would not be found."""
_SHOWN_CHARS = 300


class Notes:
    """What a child wrote to its stderr and what its door found out. Bounded, whatever comes."""

    def __init__(self) -> None:
        self._said = ""
        self.reason = ""
        """Why the connection ended, if that is known."""
        self.refused = ""
        """What an HTTP server answered instead of an answer."""

    def add(self, data: bytes) -> None:
        self._said = (self._said + data[-_KEPT_CHARS:].decode("utf-8", "replace"))[-_KEPT_CHARS:]

    def last(self, hidden: Callable[[str], str]) -> str:
        """The last lines, on one, without secrets: half of a secret would not be found."""
        lines = [line.strip() for line in hidden(self._said).splitlines() if line.strip()]
        return " · ".join(lines[-3:])[-_SHOWN_CHARS:]
