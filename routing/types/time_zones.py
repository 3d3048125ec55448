"""Time zones by name."""

from __future__ import annotations

import asyncio
from zoneinfo import ZoneInfo

_read: dict[str, ZoneInfo] = {}
"""Only zones of the system's database, so it stays small."""


async def time_zone(name: str) -> ZoneInfo:
    """The zone of an IANA name, read from its file once and in a thread.

    Raises ZoneInfoNotFoundError, ValueError or OSError for any other name.
    """
    if name not in _read:
        _read[name] = await asyncio.to_thread(ZoneInfo, name)
    return _read[name]
