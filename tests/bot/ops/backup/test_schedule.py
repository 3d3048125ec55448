"""Scheduled backups: when they are due, how many stay, and what the owner is told."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from bot.config.workspace import Workspace
from bot.observability.health import resident_bytes
from bot.ops.backup import schedule
from bot.ops.backup.restore import restore
from bot.ops.backup.schedule import ScheduledBackups
from bot.platform import Platform
from handlers.notices.notices import Notices
from routing.types.messages import OutboundMessage, UserKey
from storage.database import open_database
from storage.database.migrate import migrate
from storage.stores import Stores, open_stores
from tests.bot.ops.backup.conftest import opened
from tests.fakes import ManualClock
from tests.polling import until
from tests.routing.test_process_memory import BLOCK, BLOCKS

PASSPHRASE = "correct horse battery"
OWNER = UserKey("telegram", "1")
HOUR = 3600.0


@dataclass
class FakePlatform:
    """A platform that takes files up to a size."""

    max_file_bytes: int = 50_000_000


@dataclass
class Running:
    """What scheduled backups use of a running bot."""

    folder: Path
    stores: Stores
    clock: ManualClock
    environ: dict[str, str] = field(default_factory=dict)
    platform: FakePlatform = field(default_factory=FakePlatform)
    sent: list[OutboundMessage] = field(default_factory=list)

    @property
    def workspace(self) -> Workspace:
        return opened(self.folder, **self.environ)

    def started(self) -> ScheduledBackups:
        """As after a start."""

        async def post(messages: Sequence[OutboundMessage]) -> None:
            self.sent.extend(messages)

        platforms = {"telegram": cast(Platform, self.platform)}
        notices = Notices(self.stores.people, post)
        return ScheduledBackups(self.workspace, self.stores.people, self.stores.state, notices, platforms, self.clock)

    async def step(self, backups: ScheduledBackups) -> list[str]:
        """The archives after one step. Their time is the clock's, as the system's would be."""
        before = set(self.archives())
        await backups.step()
        for name in set(self.archives()) - before:
            os.utime(self.folder / "backups" / name, (self.clock.now, self.clock.now))
        return self.archives()

    def archives(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "backups").iterdir() if "tar" in path.name)

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.sent]


@pytest.fixture
async def bot(in_memory: Path) -> AsyncIterator[Running]:
    folder = in_memory / "ws"
    workspace = opened(folder)
    workspace.prepare()
    url, clock = workspace.environment.settings.database, ManualClock()
    await asyncio.to_thread(migrate, url, workspace.backups)
    stores = open_stores(open_database(url), clock)
    await stores.people.admit(OWNER, "Ann", "owner", "t")
    yield Running(folder, stores, clock)
    await stores.database.close()
    workspace.release()


async def test_one_a_day_and_the_newest_stay(bot: Running) -> None:
    bot.environ = {"BACKUP_KEEP": "3"}
    backups = bot.started()
    (bot.folder / "backups" / "tierbot-0027-20260101-000000.db").write_bytes(b"from before an update")
    first = await bot.step(backups)
    assert len(first) == 1
    bot.clock.now += 23.9 * HOUR
    assert await bot.step(backups) == first
    assert await bot.step(bot.started()) == first, "after a restart"
    for count in (2, 3, 3, 3):
        bot.clock.now += 24 * HOUR
        found = await bot.step(backups)
        assert len(found) == count
    assert first[0] not in found
    assert (bot.folder / "backups" / "tierbot-0027-20260101-000000.db").exists()
    assert bot.sent == []


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc keeps what was freed")
async def test_a_backup_returns_the_memory_that_it_freed(bot: Running) -> None:
    blocks = [bytes(BLOCK) for _ in range(BLOCKS)]
    stays = blocks[::100]
    del blocks
    before = resident_bytes()
    await bot.step(bot.started())
    assert resident_bytes() < before - BLOCK * BLOCKS / 2
    assert len(stays) == BLOCKS / 100


async def test_a_clock_that_was_ahead_does_not_stop_backups(bot: Running) -> None:
    backups = bot.started()
    await bot.step(backups)
    bot.clock.now -= 400 * HOUR
    assert len(await bot.step(backups)) == 2


async def test_a_failure_is_told_once_until_it_is_over(bot: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    backups = bot.started()
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "SPARE_BYTES", 10**18)
        for _ in range(3):
            assert await bot.step(backups) == []
            bot.clock.now += HOUR
        assert await bot.step(bot.started()) == []
    assert len(bot.sent) == 1
    assert bot.texts[0].startswith("💾 The scheduled backup failed: A backup may need 1,000,000,000.")
    assert bot.texts[0].endswith("or set BACKUP_EVERY_HOURS=0. I try again every hour.")
    bot.clock.now += HOUR
    assert len(await bot.step(backups)) == 1
    bot.clock.now += 24 * HOUR
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "SPARE_BYTES", 10**18)
        await bot.step(backups)
    assert len(bot.sent) == 2


async def test_an_encrypted_backup_is_sent_to_the_owner(bot: Running, tmp_path: Path) -> None:
    bot.environ = {"BACKUP_PASSPHRASE": PASSPHRASE}
    (name,) = await bot.step(bot.started())
    (message,) = bot.sent
    assert (message.chat.person, message.text.split(".")[0]) == ("1", "💾 The encrypted backup")
    assert message.files[0].name == name
    path = tmp_path / name
    path.write_bytes(message.files[0].data)
    restored = opened(bot.folder.parent / "restored", BACKUP_PASSPHRASE=PASSPHRASE)
    assert await asyncio.to_thread(restore, restored, str(path)) == 0


async def test_a_backup_that_is_too_large_to_be_sent_is_said_once(bot: Running) -> None:
    bot.environ, bot.platform.max_file_bytes = {"BACKUP_PASSPHRASE": PASSPHRASE}, 1000
    for _ in range(2):
        await bot.step(bot.started())
        bot.clock.now += 24 * HOUR
    assert len(bot.sent) == 1
    assert bot.texts[0].startswith("💾 The backup is too large to be sent here")
    assert len(bot.archives()) == 2
    bot.platform.max_file_bytes = 10_000_000
    await bot.step(bot.started())
    assert len(bot.sent) == 2


async def test_without_an_owner_on_a_platform_nothing_is_sent(bot: Running) -> None:
    bot.environ = {"BACKUP_PASSPHRASE": PASSPHRASE}
    await bot.stores.people.forget(1, "t")
    assert len(await bot.step(bot.started())) == 1
    assert bot.sent == []


async def test_the_end_of_the_bot_ends_a_backup(bot: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops within a file, and leaves nothing."""
    large = bot.folder / "files" / "large"
    with large.open("wb") as file:
        file.truncate(2_000_000_000)
    monkeypatch.setattr(schedule, "LOOK_SECONDS", 0.0)
    running = asyncio.create_task(bot.started().run())
    await until(lambda: list((bot.folder / "backups").glob(".*/archive")) != [])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await until(lambda: os.listdir(bot.folder / "backups") == [])


async def test_zero_hours_make_none(bot: Running) -> None:
    bot.environ = {"BACKUP_EVERY_HOURS": "0"}
    await bot.started().run()
    assert bot.archives() == []
