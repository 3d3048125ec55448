"""Problems that only the owner can fix are reported to owners, at most once per hour."""

from __future__ import annotations

import pytest

from tests.fakes import ShiftedClock
from tests.servers.telegram import User
from tests.stories.harness import OWNER, BotHarness, ask, running, settled
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
        assert "↪" in (await ask(on, "hm", user=BOB)).text
        assert _notice_count(on, OWNER) == 1, "not again within the hour"
        clock.ahead = 3700.0
        assert "↪" in (await ask(on, "hm", user=BOB)).text
        await on.tg.wait_for(lambda _: _notice_count(on, OWNER) == 2)
        assert _notice_count(on, BOB) == 0
    assert sum(call.vendor == "openai" for call in on.ms.calls) == 3


def _notice_count(on: BotHarness, who: User | int) -> int:
    return sum(each.text.startswith(("🔑", "❓")) for each in on.tg.chat_of(who).from_bot())


async def test_the_hour_continues_across_a_restart(on: BotHarness) -> None:
    vendors(on)
    clock = ShiftedClock()
    for ahead, count in ((0.0, 1), (100.0, 1), (3700.0, 2)):
        clock.ahead = ahead
        on.ms.fail(401, when=at("openai"))
        async with running(on, clock):
            assert "↪" in (await ask(on, "hm")).text
            await settled(on)
            assert _notice_count(on, OWNER) == count


async def test_transient_faults_are_not_reported(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(500, when=at("openai"))
    async with running(on):
        assert "↪" in (await ask(on, "hm")).text
        await ask(on, "/whoami")
        assert _notice_count(on, OWNER) == 0
