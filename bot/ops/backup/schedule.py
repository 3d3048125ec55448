"""Backups while the bot runs: made in a thread, a few kept, and sent to the owner if they are encrypted."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.workspace import Workspace
from bot.findings import size
from bot.platform import Platform
from handlers.languages import Say
from handlers.notices.notices import Notices
from routing.error_boundary import ErrorBoundary
from routing.errors import ConfigError
from routing.ports import Clock, PeopleStore, StateStore
from routing.process_memory import trim_memory
from routing.types.messages import OutgoingFile

if TYPE_CHECKING:  # imported when first used
    from bot.ops.backup.backup import Backup

LOOK_SECONDS = 600.0
"""Between two looks at the age of the newest backup; the first one is as long after the start."""
RETRY_SECONDS = 3600.0
"""Minimum time between a failed backup and the next attempt."""
SPARE_BYTES = 100_000_000
"""A scheduled backup leaves at least this much of the disk to the bot."""
PATTERN = "tierbot-*.tar.gz"
STATE_KEY = "backup_problem"
FAILED = "💾 The scheduled backup failed: {reason} I try again every hour."
TOO_LARGE = (
    "💾 The backup is too large to be sent here: it has {size}, and at most {most} can be sent. It is in the folder "
    "{folder}; copy it from there."
)
SENT = "💾 The encrypted backup. `tierbot restore <file>` restores it, with BACKUP_PASSPHRASE."

log = logging.getLogger("bot.backup")


class ScheduledBackups:
    """Makes a backup once the newest one in the folder is old enough. Owners are told of a problem once."""

    def __init__(
        self,
        workspace: Workspace,
        people: PeopleStore,
        state: StateStore,
        notices: Notices,
        platforms: Mapping[str, Platform],
        clock: Clock,
    ) -> None:
        self._workspace = workspace
        self._people = people
        self._state = state
        self._notices = notices
        self._platforms = platforms
        self._clock = clock
        self._settings = workspace.environment.settings
        self._period = self._settings.backup_every_hours * 3600.0
        self._failed_at: float | None = None

    async def run(self) -> None:
        """Make backups until this is cancelled."""
        if not self._period:
            return
        boundary = ErrorBoundary(log, "A scheduled backup failed")
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self._period))
            with boundary:
                await self.step()

    async def step(self) -> None:
        """Make a backup if one is due."""
        now = self._clock()
        if self._failed_at is not None and 0 <= now - self._failed_at < min(RETRY_SECONDS, self._period):
            return
        if not await asyncio.to_thread(self._is_due, now):
            return
        try:
            made = await self._make(now)
        except ConfigError as error:
            self._failed_at = now
            log.error("The scheduled backup failed: %s", error)
            if await self._is_news("failed"):
                await self._notices.tell_owners(FAILED, reason=error.reason)
            return
        self._failed_at = None
        log.info("Saved a backup of %s: %s", size(made.size), made.path.name)
        if not made.encrypted or await self._send(made):
            await self._solved()

    def _is_due(self, now: float) -> bool:
        times = [path.stat().st_mtime for path in self._workspace.backups.glob(PATTERN)]
        return not times or not 0 <= now - max(times) < self._period

    async def _make(self, now: float) -> Backup:
        """Make a backup in a thread, which ends soon if this is cancelled."""
        stopping = threading.Event()
        try:
            return await asyncio.to_thread(self._make_and_prune, now, stopping)
        except asyncio.CancelledError:
            stopping.set()
            raise

    def _make_and_prune(self, now: float, stopping: threading.Event) -> Backup:
        from bot.ops.backup.backup import make

        def check() -> None:
            if stopping.is_set():
                raise Stopped

        folder = self._workspace.backups
        self._check_space(folder)
        name = f"tierbot-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}.tar.gz"
        made = make(self._workspace, folder / name, check)
        by_age = sorted(folder.glob(PATTERN), key=lambda path: (path.stat().st_mtime, path.name))
        for old in by_age[: -self._settings.backup_keep]:
            old.unlink()
        trim_memory()  # about 4 MB
        return made

    def _check_space(self, folder: Path) -> None:
        """Raise ConfigError rather than fill the disk that the bot needs."""
        from bot.ops.backup.backup import database_files
        from bot.ops.backup.contents import size as size_of

        databases = sum(path.stat().st_size for path in self._workspace.databases() if path.exists())
        most = 2 * databases + size_of(self._workspace.root, database_files(self._workspace))
        free = shutil.disk_usage(folder).free
        if free < most + SPARE_BYTES:
            raise ConfigError(
                "A backup may need {most}, and the disk has {free} free. Free some space, or set BACKUP_EVERY_HOURS=0.",
                most=size(most + SPARE_BYTES),
                free=size(free),
            )

    async def _send(self, made: Backup) -> bool:
        """Send an encrypted backup to the first owner's chat; False if it is too large for that."""
        accounts = [user for user in await self._people.owners() if user.platform in self._platforms]
        person = await self._people.find(accounts[0]) if accounts else None
        if person is None:
            return True
        most = self._platforms[accounts[0].platform].max_file_bytes
        if made.size > most:
            if await self._is_news("too large"):
                folder = self._workspace.backups
                await self._notices.tell_owners(TOO_LARGE, size=size(made.size), most=size(most), folder=folder)
            return False
        data = await asyncio.to_thread(made.path.read_bytes)
        file = OutgoingFile(made.path.name, "application/octet-stream", data)
        await self._notices.send_file(accounts[0], person.id, Say(person.language)(SENT), file)
        return True

    async def _is_news(self, problem: str) -> bool:
        """Whether the owners were not told of this problem yet, also before a restart."""
        if await self._state.get(STATE_KEY) == problem:
            return False
        await self._state.put(STATE_KEY, problem)
        return True

    async def _solved(self) -> None:
        if await self._state.get(STATE_KEY) is not None:
            await self._state.put(STATE_KEY, None)


class Stopped(Exception):
    """The bot ends, and with it an unfinished backup."""
