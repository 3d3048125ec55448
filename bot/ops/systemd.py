"""Tells systemd, or a container's health check, that the bot is up and still makes progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from sdnotify import SystemdNotifier

from bot.platform import Platform
from routing.ports import Clock

PULSE_SECONDS = 10.0
DEAF_SECONDS = 150.0
"""A platform that made no step for this long is deaf; its own watchdog (120 s) had its chance before."""

log = logging.getLogger("bot.systemd")


async def pulse(
    platforms: Sequence[Platform], clock: Clock, heartbeat: Path | None = None, every: float = PULSE_SECONDS
) -> None:
    """Feed the watchdog, and touch `heartbeat`, for as long as every platform makes steps.

    Without systemd and without a heartbeat this writes nowhere. `every` is in seconds.
    """
    systemd = SystemdNotifier()
    systemd.notify("READY=1")
    while True:
        if all(clock() - platform.progress.last_step < DEAF_SECONDS for platform in platforms):
            systemd.notify("WATCHDOG=1")
            heartbeat = _touched(heartbeat)
        await asyncio.sleep(every)


def _touched(heartbeat: Path | None) -> Path | None:
    """The same path, touched; None from the first failure on, which is said once."""
    if heartbeat is not None:
        try:
            heartbeat.touch()
        except OSError as error:
            log.warning("HEARTBEAT_FILE %s can't be written: %s", heartbeat, error.strerror)
            return None
    return heartbeat
