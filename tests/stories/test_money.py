"""Budgets: checked before each call, reported when exhausted, exceeded only as the owner allows."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import pytest

from routing.types.budgets import BudgetLimits
from tests.fakes import ShiftedClock
from tests.servers.model.script import Usage
from tests.servers.telegram import User
from tests.stories.harness import OWNER, BotHarness, ask, running
from tests.stories.vendors import asked, at, labels, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

BOB = User(1002, "Bob")
DAY = 86_400.0
LITTLE = 0.0001
"""US dollars; too little for any call."""
DEAR = Usage(20_000, 2_000)
"""Tokens: $0.045 with gpt-5.1."""


def allows(on: BotHarness, **budget: object) -> None:
    """Three vendors with prices, and these limits."""
    vendors(on)
    on.config["budget"] = budget


async def test_without_budget_for_an_answer_no_model_is_called(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=LITTLE)
    async with running(on):
        reply = await ask(on, "hm")
        assert re.match(
            r"💰 This would cost about \$0\.0\d+, more than your limit of \$0\.0001 a day allows", reply.text
        )
        assert labels(reply) == ["🔁 Retry"]
        assert asked(on) == []
        assert "nothing yet" in (await ask(on, "/usage")).text
    on.config["budget"] = {}
    async with running(on):
        on.tg.press("🔁 Retry", message=reply)
        assert (await on.tg.reply(after=reply)).text == "You said: hm", "the question was stored"


async def test_an_unaffordable_tier_is_refused_and_the_best_affordable_offered(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=0.2)
    async with running(on):
        reply = await ask(on, "!deep hm")
        assert "more than your limit of $0.20 a day" in reply.text
        assert asked(on) == [], "never downgraded silently"
        assert labels(reply) == ["🔁 Retry", "Ask smart instead"]
        on.tg.press("Ask smart instead", message=reply)
        assert (await on.tg.reply(after=reply)).text == "You said: hm"
    assert asked(on) == ["openai/gpt-5.1"]


async def test_the_offered_tier_is_cheaper(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=0.2)
    vendors(on, coding={"maxOutputTokens": 64_000})
    async with running(on):
        reply = await ask(on, "!coding hm")
        assert "more than your limit of $0.20 a day" in reply.text
        assert labels(reply) == ["🔁 Retry", "Ask balanced instead"], "smart is affordable and no cheaper"
        assert (await ask(on, "!smart hm")).text == "You said: hm"


async def test_what_was_spent_counts_after_a_restart_and_ends_with_the_day(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=0.06)
    clock = ShiftedClock()
    on.ms.reply("You said: hm", usage=DEAR, times=1)
    async with running(on, clock):
        assert (await ask(on, "hm")).text == "You said: hm"
    async with running(on, clock):
        reply = await ask(on, "hm")
        assert re.search(r"cost about \$0\.0\d+ and exceed your limit of \$0\.06 a day: \$0\.04\d* is", reply.text)
        assert "the limit resets in" in reply.text
        assert len(asked(on)) == 1
        clock.ahead = DAY
        assert (await ask(on, "hm")).text == "You said: hm"


async def test_concurrent_turns_cannot_both_use_the_last_budget(on: BotHarness) -> None:
    allows(on, totalDailyUsd=0.08)
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        gate = on.ms.gate("You said: one")
        first, second = on.tg.say("one"), on.tg.say("two", user=BOB)
        await on.tg.wait_for(lambda _: len(asked(on)) == 1)
        refused = await on.tg.reply(second, after=second)
        assert refused.text.startswith(
            "💰 Answers in progress have reserved the rest of the bot's limit of $0.08 a day."
        )
        gate.open()
        assert (await on.tg.reply(first, after=first)).text == "You said: one"
        assert (await ask(on, "/retry", user=BOB)).text == "You said: two", "the reservation was released"
    assert len(asked(on)) == 2


async def test_at_a_limit_the_cheapest_model_continues_visibly(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=LITTLE, atLimit="cheapest")
    async with running(on):
        text = (await ask(on, "!deep hm")).text
        assert text.startswith("You said: hm")
        assert text.endswith("💰 This goes beyond your limit of $0.0001 a day, so the cheapest model answered.")
    assert asked(on) == ["gemini/gemini-2.5-flash"]


async def test_an_unknown_price_is_never_the_cheapest(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=LITTLE, atLimit="cheapest")
    on.config["tiers"] = {
        tier: {"pool": [f"openai/strange-{tier}"]} for tier in ("balanced", "smart", "coding", "deep")
    }
    async with running(on):
        assert "No model was asked" in (await ask(on, "hm")).text
    assert asked(on) == []


async def test_warn_mode_only_warns(on: BotHarness) -> None:
    allows(on, perChatMonthlyUsd=LITTLE, atLimit="warn")
    async with running(on):
        text = (await ask(on, "hm")).text
        assert text.startswith("You said: hm")
        assert text.endswith("💰 This goes beyond this chat's limit of $0.0001 a month. /budget shows where you are.")


async def test_unknown_prices_are_counted_apart(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=0.3)
    on.config["tiers"] = {"balanced": {"pool": ["openai/strange"]}}
    on.ms.reply("You said: hm", usage=DEAR)
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm"
        assert "price unknown" in (await ask(on, "/usage")).text
        shown = (await ask(on, "/budget")).text
        assert "Today: $0.22 of $0.30 (one unpriced)" in shown, "22,000 tokens at $10 per million"
        assert "Calls with an unknown price count as $10.00 per million tokens." in shown
    async with running(on):
        assert "Today: $0.22 of $0.30 (one unpriced)" in (await ask(on, "/budget")).text
    on.config["budget"] = {"perUserDailyUsd": 0.3, "assumeUnknownUsdPerMillion": 1000}
    async with running(on):
        assert "No model was asked" in (await ask(on, "hm")).text, "at the owner's rate"


async def test_a_limit_reached_mid_turn_keeps_the_text(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=0.06)
    on.ms.call_tools([("get_datetime", {})], text="Let me look.", usage=DEAR)
    async with running(on):
        text = (await ask(on, "what time is it?")).text
        assert text.startswith("Let me look.\n\n💰 Stopped: the limit of $0.06 is used up.")
    assert len(asked(on)) == 1


async def test_the_owner_sets_a_persons_budget(on: BotHarness) -> None:
    allows(on)
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hm", user=BOB)
        assert (await ask(on, "/budget")).text == "What you may spend here: there is no limit."
        shown = (await ask(on, f"/budget telegram:{BOB.id} {LITTLE}")).text
        assert shown.startswith(f"What telegram:{BOB.id} may spend here")
        assert "personal limit" in shown
    async with running(on):
        assert "more than your limit of $0.0001 a day" in (await ask(on, "hm", user=BOB)).text
        assert (await ask(on, "hm")).text == "You said: hm", "only this person's"
        for wrong in ("nought", "0", "-1", "nan", "1e9"):
            assert "Nothing was changed" in (await ask(on, f"/budget telegram:{BOB.id} {wrong}")).text
        assert "Only an owner" in (await ask(on, f"/budget telegram:{OWNER} 5", user=BOB)).text
        assert "I don't know telegram:7" in (await ask(on, "/budget telegram:7 5")).text
        await ask(on, f"/budget telegram:{BOB.id} off")
        assert (await ask(on, "hm", user=BOB)).text == "You said: hm"
    assert [json.loads(str(row[0])) for row in on.rows("select detail from audit where action = 'budget'")] == [
        ["person 2", f"${LITTLE} a day"],
        ["person 2", "as everyone"],
    ]


async def test_calls_without_usage_are_charged_also_after_a_restart(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=0.06)
    async with running(on):
        gate = on.ms.reply("word " * 40, gate_after=2)
        on.tg.say("hm")
        await gate.reached()
        assert "⏹ Stopped." in (await ask(on, "/stop")).text
        gate.open()
        assert re.search(r"Today: \$0\.04\d+ of \$0\.06 \(one unpriced\)", (await ask(on, "/budget")).text)
    async with running(on):
        assert "and exceed " in (await ask(on, "hm")).text
    assert len(asked(on)) == 1


async def test_a_limit_that_returns_knows_the_spending_since(on: BotHarness) -> None:
    allows(on)
    on.ms.reply("You said: hm", usage=DEAR, times=3)
    async with running(on):
        me = f"telegram:{OWNER}"
        await ask(on, f"/budget {me} 1")
        await ask(on, "hm")
        await ask(on, f"/budget {me} off")
        await ask(on, "hm")
        assert "Today: $0.09 of $0.10" in (await ask(on, f"/budget {me} 0.10")).text
        assert "and exceed " in (await ask(on, "hm")).text


async def test_a_limit_added_later_knows_the_earlier_spending(on: BotHarness) -> None:
    allows(on, perUserDailyUsd=1)
    on.ms.reply("You said: hm", usage=DEAR, times=3)
    async with running(on) as app:
        models = app.engine.models
        with_limit = models.config.budget
        await ask(on, "hm")
        models.config = replace(models.config, budget=BudgetLimits())
        await ask(on, "hm")
        models.config = replace(models.config, budget=with_limit)
        assert "Today: $0.09 of $1.00" in (await ask(on, "/budget")).text


async def test_discarded_attempts_are_charged(on: BotHarness) -> None:
    allows(on)
    on.ms.empty(when=at("openai"), times=2)
    async with running(on):
        assert "↪" in (await ask(on, "hm")).text
    assert [row[0] for row in on.rows("select model from usage order by id")] == [
        "openai/gpt-5.1",
        "openai/gpt-5.1",
        "anthropic/claude-haiku-4-5",
    ]


async def test_concurrent_people_never_exceed_a_shared_limit(on: BotHarness) -> None:
    allows(on, totalDailyUsd=0.16)
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        gate = on.ms.gate(times=None)
        messages = [on.tg.say(f"q{n}", user=User(2000 + n, f"P{n}")) for n in range(8)]
        refused = 5  # three of about $0.05 fit
        await on.tg.wait_for(
            lambda _: sum("💰" in m.text for s in messages for m in on.tg.chat_of(s).from_bot()) == refused
        )
        gate.open()
        await asyncio.gather(*(on.tg.reply(each, after=each) for each in messages))
    assert len(asked(on)) == len(messages) - refused
