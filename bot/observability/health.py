"""Facts about the process for /status."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bot.platform import Platform
from handlers.running import RunningTurns
from handlers.version import VERSION
from routing.errors import Reason
from routing.policy.models import Models
from routing.ports import Clock, Facts, OutboxStore


class ProcessHealth:
    """Implements `routing.ports.Health`."""

    def __init__(
        self,
        revision: str,
        database_size: Callable[[], Awaitable[int]],
        outbox: OutboxStore,
        running: RunningTurns,
        models: Models,
        platforms: Mapping[str, Platform],
        clock: Clock,
    ) -> None:
        self._revision = revision
        self._database_size = database_size
        self._outbox = outbox
        self._running = running
        self._models = models
        self._platforms = platforms
        self._clock = clock
        self._started_at = clock()
        self.config_fault: Reason | None = None
        """The error in an edited file, while the last valid configuration stays in use. Set by `bot/live_config.py`."""

    async def facts(self) -> Facts:
        """Collect all facts."""
        counts = await self._outbox.counts()
        return Facts(
            version=VERSION,
            started_at=self._started_at,
            memory_bytes=await asyncio.to_thread(resident_bytes),
            revision=self._revision,
            database_bytes=await self._database_size(),
            running=len(self._running),
            queued=self._running.queued,
            pending=counts.get("pending", 0) + counts.get("attempting", 0),
            dead=counts.get("dead", 0),
            links=tuple((name, platform.progress) for name, platform in self._platforms.items()),
            now=self._clock(),
            failures=self._models.health.failures.recent(),
            config_fault=self.config_fault,
        )


def resident_bytes() -> int:
    """Resident memory of the process in bytes; 0 if the kernel does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
