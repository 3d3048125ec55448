"""Tells systemd that the bot is up, and that it still makes progress."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sdnotify import SystemdNotifier

from bot.platform import Platform
from routing.ports import Clock

PULSE_SECONDS = 10.0
DEAF_SECONDS = 150.0
"""A platform that made no step for this long is deaf; its own watchdog (120 s) had its chance before."""


async def pulse(platforms: Sequence[Platform], clock: Clock) -> None:
    """Feed the watchdog for as long as every platform makes steps; without systemd this writes nowhere."""
    systemd = SystemdNotifier()
    systemd.notify("READY=1")
    while True:
        if all(clock() - platform.progress.last_step < DEAF_SECONDS for platform in platforms):
            systemd.notify("WATCHDOG=1")
        await asyncio.sleep(PULSE_SECONDS)
