"""Tells systemd, or a container's health check, that the bot is running and making progress, reloading or stopping."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sdnotify import SystemdNotifier

from bot.platform import Platform
from routing.ports import Clock

PULSE_SECONDS = 10.0
STUCK_SECONDS = 150.0
"""A platform without a step for this long is stuck. Longer than the platforms' own watchdogs (120 s)."""

log = logging.getLogger("bot.systemd")


async def pulse(
    platforms: Sequence[Platform],
    clock: Clock,
    heartbeat: Path | None = None,
    every: float = PULSE_SECONDS,
    status: Callable[[], str] = str,
) -> None:
    """Notify the watchdog and touch `heartbeat` while every platform makes progress, and pass on each new `status`.

    Does nothing without systemd and without a heartbeat file. `every` is in seconds.
    """
    systemd, told = SystemdNotifier(), ""
    systemd.notify("READY=1")
    while True:
        if not stuck(platforms, clock()):
            systemd.notify("WATCHDOG=1")
            heartbeat = _touch(heartbeat)
        if (now := status()) != told:
            systemd.notify(f"STATUS={now}")
            told = now
        await asyncio.sleep(every)


def stuck(platforms: Iterable[Platform], now: float) -> list[tuple[str, float]]:
    """The platforms without progress for too long, and for how many seconds. One that has not been started is not
    stuck."""
    steps = ((each.name, each.progress.last_step or each.progress.up_since) for each in platforms)
    silent = ((name, now - step) for name, step in steps if step)
    return [(name, seconds) for name, seconds in silent if seconds >= STUCK_SECONDS]


@contextmanager
def reloading() -> Iterator[None]:
    """Tells systemd that the configuration is being read again, and at the end that the bot is ready."""
    systemd = SystemdNotifier()
    systemd.notify(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")
    try:
        yield
    finally:
        systemd.notify("READY=1")


def stopping() -> None:
    """Tell systemd that the bot ends, so that it waits for running turns."""
    SystemdNotifier().notify("STOPPING=1\nSTATUS=Stopping: running turns may finish")


def describe(platforms: Mapping[str, Platform], steady: Clock, clock: Clock) -> str:
    """One line for `systemctl status` and `tierbot service status`: the platforms, and when the last message came."""
    names = [f"{name} ({each.progress.problem})" if each.progress.problem else name for name, each in platforms.items()]
    latest = max((each.progress.last_update for each in platforms.values()), default=0.0)
    at = time.localtime(clock() - (steady() - latest))
    last = time.strftime("last message %Y-%m-%d %H:%M", at) if latest else "no message yet"
    return " ".join(f"Platforms: {', '.join(names)}; {last}".split())


def _touch(heartbeat: Path | None) -> Path | None:
    """Touch the file and return its path; None once that has failed, which is logged."""
    if heartbeat is not None:
        try:
            heartbeat.touch()
        except OSError as error:
            log.warning("HEARTBEAT_FILE %s can't be written: %s", heartbeat, error.strerror)
            return None
    return heartbeat
