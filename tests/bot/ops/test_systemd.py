"""The watchdog is notified on progress. A real datagram socket replaces systemd's."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from bot.ops.systemd import STUCK_SECONDS, describe, pulse, stuck
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


async def test_each_new_status_is_passed_on_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    states = iter(["one message", "one message", "two messages"])
    async with systemd(tmp_path / "notify") as notifications:
        beat = asyncio.create_task(pulse([], lambda: 0.0, every=0.001, status=lambda: next(states, "two messages")))
        heard = [await next_notification(notifications) for _ in range(7)]
        beat.cancel()
    assert [line for line in heard if line != "WATCHDOG=1"] == ["READY=1", "STATUS=one message", "STATUS=two messages"]


def test_the_status_is_one_line_with_the_time_of_the_last_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    well, ill = platform(0.0), platform(0.0)
    ill.progress.problem = "the network\nis down"
    both = {"telegram": well, "discord": ill}
    assert describe(both, lambda: 500.0, lambda: 1_795_824_000.0) == (
        "Platforms: telegram, discord (the network is down); no message yet"
    )
    well.progress.last_update = 440.0
    assert describe(both, lambda: 500.0, lambda: 1_795_824_000.0).endswith("; last message 2026-11-27 23:59")


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
        told = [notifications.get_nowait() for _ in range(notifications.qsize())]
        assert "STATUS=Platforms: telegram; no message yet" in told
        assert told[-1].startswith("STOPPING=1\n")
    assert heartbeat.exists()


async def test_a_hangup_reloads_the_configuration(on: BotHarness, tmp_path: Path) -> None:
    """Without waiting for the next look at the files, which a test could not tell apart from the signal's effect."""
    environ = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
    constants = {"bot.live_config.RELOAD_SECONDS": 3600.0}
    async with (
        systemd(tmp_path / "notify") as notifications,
        BotProcess(on, "run", env=environ, constants=constants) as process,
    ):
        assert await next_notification(notifications) == "READY=1"
        (on.workspace / "preferences" / "runtime-config.json").write_text('{"tools": {"nosuch": 1}}', encoding="utf-8")
        process.signal(signal.SIGHUP)
        reloading, clock, ready = "", "", ""
        while not reloading:
            reloading, _, clock = (await next_notification(notifications)).partition("\n")
            reloading = reloading if reloading == "RELOADING=1" else ""
        assert 0 <= time.monotonic() - int(clock.removeprefix("MONOTONIC_USEC=")) / 1e6 < 3600
        while ready != "READY=1":
            ready = await next_notification(notifications)
        assert "Ignored unknown keys in runtime-config.json: tools.nosuch" in process.log
        assert await process.terminate() == 0


async def test_a_hangup_during_the_start_does_not_end_the_bot(on: BotHarness) -> None:
    hanging = on.tg.fault("*", "hang", times=1, seconds=3600.0)
    waits = {"bot.adapters.shared.connection.FIRST_SECONDS": 3600.0}
    async with BotProcess(on, constants=waits) as process:
        await on.tg.wait_for(lambda _: hanging.hits, 30.0)
        process.signal(signal.SIGHUP)
        process.signal(signal.SIGTERM)  # signals are handled in the order of their numbers, SIGHUP first
        assert await process.ended() == 0


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
