"""The watchdog is notified on progress. A real datagram socket replaces systemd's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from bot.ops.systemd import STUCK_SECONDS, pulse, stuck
from bot.platform import Platform, Progress
from tests.stories.harness import BotHarness, BotProcess, bot_harness, running


@dataclass
class FakePlatform:
    """A platform that only has progress."""

    name = "fake"
    progress: Progress = field(default_factory=Progress)


def platform(last_step: float) -> Platform:
    return cast(Platform, FakePlatform(Progress(last_step=last_step)))


@asynccontextmanager
async def systemd(path: Path) -> AsyncIterator[asyncio.Queue[str]]:
    """The receiving end of NOTIFY_SOCKET."""
    notifications: asyncio.Queue[str] = asyncio.Queue()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(path))
        end.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(end, lambda: notifications.put_nowait(end.recv(4096).decode()))
        try:
            yield notifications
        finally:
            loop.remove_reader(end)


async def next_notification(notifications: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(notifications.get(), 60)


async def test_ready_is_sent_once_then_the_watchdog_is_notified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    async with systemd(tmp_path / "notify") as notifications:
        beat = asyncio.create_task(pulse([platform(1000.0)], lambda: 1000.0 + STUCK_SECONDS - 1, every=0.001))
        assert [await next_notification(notifications) for _ in range(4)] == [
            "READY=1",
            "WATCHDOG=1",
            "WATCHDOG=1",
            "WATCHDOG=1",
        ]
        beat.cancel()


async def test_one_silent_platform_stops_the_watchdog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    well, deaf = platform(1000.0), platform(1000.0)
    looks = asyncio.Semaphore(0)

    def clock() -> float:
        looks.release()
        return 1000.0 + STUCK_SECONDS

    async with systemd(tmp_path / "notify") as notifications:
        well.progress.last_step = 1001.0
        heartbeat = tmp_path / "heartbeat"
        beat = asyncio.create_task(pulse([well, deaf], clock, heartbeat, every=0.001))
        assert await next_notification(notifications) == "READY=1"
        for _ in range(10):
            await asyncio.wait_for(looks.acquire(), 60)
        assert notifications.empty()
        assert not heartbeat.exists()
        deaf.progress.last_step = 1001.0
        assert await next_notification(notifications) == "WATCHDOG=1"
        assert heartbeat.exists()
        beat.cancel()


async def test_a_heartbeat_that_cannot_be_written_does_not_stop_the_watchdog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    async with systemd(tmp_path / "notify") as notifications:
        beat = asyncio.create_task(pulse([], lambda: 0.0, tmp_path / "absent" / "heartbeat", every=0.001))
        assert [await next_notification(notifications) for _ in range(3)] == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]
        beat.cancel()
    assert caplog.text.count("HEARTBEAT_FILE") == 1


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "workspace") as made:
        yield made


async def test_the_bot_tells_systemd_when_it_is_up_and_touches_its_heartbeat(on: BotHarness, tmp_path: Path) -> None:
    heartbeat = tmp_path / "heartbeat"
    environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "HEARTBEAT_FILE": str(heartbeat)}
    async with systemd(tmp_path / "notify") as notifications, BotProcess(on, "run", env=environ) as process:
        assert await asyncio.wait_for(notifications.get(), 60) == "READY=1"
        assert await next_notification(notifications) == "WATCHDOG=1"
        assert any(request.method == "getUpdates" for request in on.tg.requests)
        assert await process.terminate() == 0
    assert heartbeat.exists()


async def stepped(progress: Progress, since: float) -> None:
    """Waits for progress after `since`."""
    for _ in range(2000):
        if progress.last_step > since:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("no step in 20 s")


async def test_a_disconnected_bot_still_reports_progress(on: BotHarness) -> None:
    await on.tg.go_down()
    async with running(on) as app:
        progress = app.messaging.platforms["telegram"].progress
        await stepped(progress, 0.0)
        await stepped(progress, progress.last_step)
        await on.tg.come_back()


async def test_each_poll_reports_progress(on: BotHarness) -> None:
    async with running(on) as app:
        progress = app.messaging.platforms["telegram"].progress
        await stepped(progress, 0.0)
        before = progress.last_step
        on.tg.say("hello")
        await stepped(progress, before)
        await on.tg.reply()


def test_a_platform_that_hangs_in_its_first_connection_is_stuck() -> None:
    never, hangs = platform(0.0), platform(0.0)
    hangs.progress.up_since = 1000.0
    assert stuck([never, hangs], 1000.0 + STUCK_SECONDS - 1) == []
    assert stuck([never, hangs], 1000.0 + STUCK_SECONDS) == [("fake", STUCK_SECONDS)]
