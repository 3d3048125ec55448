"""Formats durations."""

from __future__ import annotations

from datetime import timedelta


def format_duration(seconds: float) -> str:
    """`3 d 4 h`, `5 min`, `12 s`."""
    whole = timedelta(seconds=max(0, int(seconds)))
    hours, rest = divmod(whole.seconds, 3600)
    if whole.days:
        return f"{whole.days} d {hours} h"
    if hours:
        return f"{hours} h {rest // 60} min"
    return f"{rest // 60} min" if rest >= 60 else f"{rest} s"
