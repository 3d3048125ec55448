"""What is wrong with receiving, reported once, and how long to wait before the next attempt."""

from __future__ import annotations

import logging

from bot.platform import Progress
from routing.backoff import exponential
from routing.errors import TierbotError


class ConnectionBackoff:
    """Logs each kind of problem once and keeps it in `progress.trouble`. Waits grow until `recovered`."""

    def __init__(self, platform: str, progress: Progress, first: float, longest: float) -> None:
        self._platform = platform
        self._progress = progress
        self._first = first
        self._longest = longest
        self._failures = 0
        self._standing = ""
        """A problem that remains while the connection works."""
        self._log = logging.getLogger(f"bot.adapters.{platform.lower()}")

    def recovered(self) -> None:
        """Receiving works again."""
        self._failures = 0
        if self._progress.trouble not in ("", self._standing):
            self._log.info("%s works again", self._platform)
        self._progress.trouble = self._standing

    def _pause(self, first: float | None = None, longest: float | None = None) -> float:
        """Seconds to wait after one more failure."""
        self._failures += 1
        return exponential(self._failures, first or self._first, longest or self._longest)

    def _report(self, text: str, level: int = logging.ERROR) -> None:
        """Texts that differ only in brackets are one kind of problem."""
        if self._progress.trouble.partition("(")[0] != text.partition("(")[0]:
            self._failures = 0
            self._log.log(level, "%s: %s", self._platform, text)
        self._progress.trouble = text


def cause_of(error: Exception) -> str:
    """Why messages could not be saved: one clause without secrets."""
    return str(error).rstrip(".") if isinstance(error, TierbotError) else type(error).__name__
