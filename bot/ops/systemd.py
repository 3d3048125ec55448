"""Tells systemd, or a container's health check, that the bot is running and making progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from sdnotify import SystemdNotifier

from bot.platform import Platform
from routing.ports import Clock

PULSE_SECONDS = 10.0
STUCK_SECONDS = 150.0
"""A platform without a step for this long is stuck. Longer than the platforms' own watchdogs (120 s)."""

log = logging.getLogger("bot.systemd")


async def pulse(
    platforms: Sequence[Platform], clock: Clock, heartbeat: Path | None = None, every: float = PULSE_SECONDS
) -> None:
    """Notify the watchdog and touch `heartbeat` while every platform makes progress.

    Does nothing without systemd and without a heartbeat file. `every` is in seconds.
    """
    systemd = SystemdNotifier()
    systemd.notify("READY=1")
    while True:
        if not stuck(platforms, clock()):
            systemd.notify("WATCHDOG=1")
            heartbeat = _touch(heartbeat)
        await asyncio.sleep(every)


def stuck(platforms: Iterable[Platform], now: float) -> list[tuple[str, float]]:
    """The platforms without progress for too long, and for how many seconds. One that has not been started is not
    stuck."""
    steps = ((each.name, each.progress.last_step or each.progress.up_since) for each in platforms)
    silent = ((name, now - step) for name, step in steps if step)
    return [(name, seconds) for name, seconds in silent if seconds >= STUCK_SECONDS]


def _touch(heartbeat: Path | None) -> Path | None:
    """Touch the file and return its path; None once that has failed, which is logged."""
    if heartbeat is not None:
        try:
            heartbeat.touch()
        except OSError as error:
            log.warning("HEARTBEAT_FILE %s can't be written: %s", heartbeat, error.strerror)
            return None
    return heartbeat
