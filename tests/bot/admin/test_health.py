"""/healthz and /readyz."""

from __future__ import annotations

import re

import httpx
import pytest

from bot.ops.systemd import STUCK_SECONDS
from routing.errors import Reason, StorageFault
from storage.state import SqlState
from tests.bot.admin.conftest import Served
from tests.bot.ops.test_systemd import platform
from tests.ports import free_port
from tests.stories.harness import BotHarness, ask, running, settled


async def test_a_bot_that_starts_is_alive_but_not_ready(served: Served) -> None:
    assert (await served.http.get("/healthz")).status_code == 200
    answer = await served.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "reasons": ["The bot is starting or stopping."]}


async def test_a_silent_platform_makes_the_bot_unhealthy(served: Served) -> None:
    messaging = served.services.messaging
    messaging.platforms["fake"] = silent = platform(messaging.steady() - STUCK_SECONDS - 3600)
    try:
        answer = await served.http.get("/healthz")
        assert answer.status_code == 503
        assert re.fullmatch(r"fake has made no progress for 37[5-9]\d s\.", *answer.json()["reasons"])
        silent.progress.last_step = messaging.steady()
        assert (await served.http.get("/healthz")).status_code == 200
    finally:
        messaging.platforms.clear()


async def test_readiness_names_what_is_missing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_state: SqlState, _key: str, _value: str) -> None:
        raise StorageFault("the disk is full")

    monkeypatch.setattr(SqlState, "put", fail)
    messaging = served.services.messaging
    messaging.platforms["fake"] = platform(1.0)
    messaging.platforms["other"] = platform(0.0)
    messaging.platforms["fake"].progress.problem = Reason("no connection to {where}", where="Fake")
    messaging.refused.append(Reason("OTHER_TOKEN was refused."))
    try:
        assert (await served.http.get("/readyz")).json()["reasons"] == [
            "The bot is starting or stopping.",
            "OTHER_TOKEN was refused.",
            "fake: no connection to Fake.",
            "other is not connected yet.",
            "The database can't be written: the disk is full.",
        ]
    finally:
        messaging.platforms.clear()


async def test_a_flood_of_probes_writes_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = []

    async def put(_state: SqlState, key: str, _value: str) -> None:
        writes.append(key)

    monkeypatch.setattr(SqlState, "put", put)
    for _ in range(20):
        await served.http.get("/readyz")
    assert writes == ["readiness"]


async def test_a_running_bot_is_ready_and_counts_its_turns(on: BotHarness) -> None:
    on.env["ADMIN_ADDRESS"] = address = f"127.0.0.1:{free_port()}"
    async with running(on), httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"status": "ok"})
        assert (await http.get("/healthz")).status_code == 200
        await ask(on, "What is a tier?")
        await settled(on)
        text = (await http.get("/metrics")).text
        for line in (
            'tierbot_turns_total{outcome="answered",tier="balanced"} 1.0',
            'tierbot_platform_up{platform="telegram"} 1.0',
            "tierbot_turns_running 0.0",
            "tierbot_messages_waiting 0.0",
            'tierbot_outbox_replies{state="dead"} 0.0',
            "tierbot_ready 1.0",
            "tierbot_oldest_message_seconds 0.0",
        ):
            assert f"\n{line}\n" in text
        assert "What is a tier?" not in text
        assert on.tg.token not in text
