"""Problems that only the owner can fix are reported to owners, at most once per hour."""

from __future__ import annotations

import json

import pytest

from tests.fakes import ShiftedClock
from tests.polling import until
from tests.servers.telegram import User
from tests.stories.harness import OWNER, BotHarness, ask, running
from tests.stories.vendors import KEYS, at, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

BOB = User(1002, "Bob")


@pytest.mark.parametrize(("status", "sign"), [(401, "🔑"), (403, "🔑"), (404, "❓")])
async def test_a_refused_key_or_model_is_reported_once_per_hour(on: BotHarness, status: int, sign: str) -> None:
    vendors(on)
    on.env["BOT_ACCESS"] = "open"
    clock = ShiftedClock()
    async with running(on, clock):
        await ask(on, "/whoami")
        on.ms.fail(status, when=at("openai"), times=9)
        assert "↪" in (await ask(on, "hm", user=BOB)).text
        notice = await on.tg.reply(OWNER, matching=sign)
        assert "openai" in notice.text
        assert KEYS["openai"] not in notice.text
        clock.ahead = 1000.0  # its breaker lets a probe through
        on.ms.fail(status, when=at("anthropic"))
        assert "↪" in (await ask(on, "hm", user=BOB)).text
        await _reported(on, "anthropic", 1)
        assert _notice_count(on, "openai") == 1, "not again within the hour"
        clock.ahead = 3700.0
        assert "↪" in (await ask(on, "hm", user=BOB)).text
        await _reported(on, "openai", 2)
        assert _notice_count(on, "", BOB) == 0
    assert sum(call.vendor == "openai" for call in on.ms.calls) == 3


def _notice_count(on: BotHarness, vendor: str, who: User | int = OWNER) -> int:
    texts = [each.text for each in on.tg.chat_of(who).from_bot()]
    return sum(text.startswith(("🔑", "❓")) and vendor in text for text in texts)


async def _reported(on: BotHarness, vendor: str, count: int) -> None:
    """Waits for a notice, and until its time is stored. Problems are reported in the order in which they occur."""
    await on.tg.wait_for(lambda _: _notice_count(on, vendor) == count)
    await until(lambda: vendor in _newest(on))


def _newest(on: BotHarness) -> str:
    """The provider or model whose stored notice is the newest."""
    rows = on.rows("select value from state where key = 'outages'")
    told: dict[str, float] = json.loads(str(*rows[0])) if rows else {"": 0.0}
    return max(told, key=told.__getitem__)


async def test_the_hour_continues_across_a_restart(on: BotHarness) -> None:
    vendors(on)
    clock = ShiftedClock()
    for ahead, reported, count in ((0.0, "openai", 1), (100.0, "anthropic", 1), (3700.0, "openai", 2)):
        clock.ahead = ahead
        for vendor in {"openai", reported}:
            on.ms.fail(401, when=at(vendor))
        async with running(on, clock):
            assert "↪" in (await ask(on, "hm")).text
            await _reported(on, reported, count)
            assert _notice_count(on, "openai") == count


async def test_transient_faults_are_not_reported(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(500, when=at("openai"))
    on.ms.fail(401, when=at("anthropic"))
    async with running(on):
        assert "↪" in (await ask(on, "hm")).text
        await _reported(on, "anthropic", 1)
        assert _notice_count(on, "openai") == 0
