"""Timing that every chat platform needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommonPace:
    """All in seconds.

    Pauses between attempts to connect grow from `backoff` to `longest_backoff`; after a refused token it is `revoked`.
    Every `watch` seconds the connection is checked, and replaced if nothing was heard for `deaf`. `typing_after` and
    `preview_after` count from the start of a turn.
    """

    backoff: float = 1.0
    longest_backoff: float = 30.0
    revoked: float = 60.0
    watch: float = 5.0
    deaf: float = 120.0
    typing_after: float = 0.4
    typing_every: float = 4.0
    preview_after: float = 1.0
