"""Exponential backoff."""

from __future__ import annotations

_MAX_DOUBLINGS = 30


def exponential(failures: int, first: float, longest: float) -> float:
    """Seconds to wait after `failures` (1 or more) in a row: doubles from `first` up to `longest`."""
    return min(first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), longest)
