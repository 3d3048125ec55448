"""A council costs money: roles, confirmation, limits, and one at a time."""

from __future__ import annotations

import re

import pytest

from tests.fakes import ShiftedClock
from tests.polling import until
from tests.servers.model import Script, Usage
from tests.stories.access import account
from tests.stories.councils import ASKED, CLAUDE, GEMINI, GPT, MEMBERS, at, enable_council
from tests.stories.harness import BotHarness, ask, press, running
from tests.stories.test_media import RED
from tests.stories.vendors import POOLS, labels

pytestmark = pytest.mark.usefixtures("own_clients")

YES = re.compile(r"🏛 Ask 3 models · about \$0\.\d\d$")


async def test_an_expensive_council_asks_first_and_the_yes_survives_a_restart(on: BotHarness) -> None:
    enable_council(on, above=0.01)
    async with running(on):
        offer = await ask(on, ASKED)
        assert offer.text.startswith(f"🏛 Shall I ask 3 models: {GPT}, {CLAUDE}, {GEMINI}?\nabout $0.")
        assert offer.text.endswith(" · 7 calls · at most 180 s")
        assert on.ms.calls == []
        yes, no = labels(offer)
        assert YES.match(yes)
        assert no == "Cancel"
    async with running(on):
        on.tg.press(yes, message=offer)
        answer = await on.tg.reply(after=offer)
        assert answer.text.startswith("All agree.\n\n🏛 3 of 3 answered.")
        assert len(on.ms.calls) == 7
        assert on.rows("select text from messages where role = 'user'") == [("Tabs or spaces?",)]


async def test_a_second_yes_to_the_same_offer_does_nothing(on: BotHarness) -> None:
    enable_council(on, above=0.01)
    clock = ShiftedClock()
    async with running(on, clock):
        offer = await ask(on, ASKED)
        on.tg.press(labels(offer)[0], message=offer)
        answer = await on.tg.reply(after=offer, matching="All agree.")
        await on.tg.wait_for(lambda _: offer.buttons == [])
        assert "🗳 Votes" in labels(answer)
        clock.ahead = 5.0
        assert "There is nothing to confirm here." in (await ask(on, "/council yes")).text
        assert len(on.ms.calls) == 7
        again = await ask(on, ASKED)
        on.tg.press(labels(again)[0], message=again)
        await on.tg.reply(after=again, matching="All agree.")
    assert len(on.ms.calls) == 14, "a new offer is a new question"


async def test_without_previews_a_council_asks_first(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        await ask(on, "/settings streaming off")
        offer = await ask(on, ASKED)
        assert offer.text.startswith(f"🏛 Shall I ask 3 models: {GPT}, {CLAUDE}, {GEMINI}?\nabout $0.")
        assert on.ms.calls == []
        on.tg.press(labels(offer)[0], message=offer)
        assert (await on.tg.reply(after=offer)).text.startswith("All agree.")


async def test_an_ignored_offer_costs_nothing_and_expires(on: BotHarness) -> None:
    enable_council(on, above=0.0)
    async with running(on):
        offer = await press(on, "Cancel", await ask(on, ASKED))
        assert offer.text == "Cancelled. Nothing was asked."
        assert labels(offer) == []
        assert "There is nothing to confirm here." in (await ask(on, "/council yes")).text
        await ask(on, ASKED)
        assert (await ask(on, "/council yes")).text.startswith("All agree."), "where there are no buttons"
        assert "There is nothing to confirm here." in (await ask(on, "/council yes")).text
    assert len(on.ms.calls) == 7


async def test_an_unknown_price_asks_first(on: BotHarness) -> None:
    enable_council(on)
    on.env["TIER_DEEP_POOL"] = f"openai/gpt-new-unheard-of,{CLAUDE}"
    async with running(on):
        offer = await ask(on, ASKED)
    assert " (3 unpriced) · 7 calls" in offer.text
    assert on.ms.calls == []


async def test_a_person_has_one_council_at_a_time(on: BotHarness) -> None:
    enable_council(on)
    gate, clock = on.ms.gate(when=at("openai", "answers")), ShiftedClock()
    async with running(on, clock):
        await ask(on, "/access here on", group="Team")
        first = on.tg.say(ASKED)
        await gate.reached(60.0)
        elsewhere = await ask(on, ASKED, group="Team")
        assert elsewhere.text.startswith("You already have a council running")
        in_line = on.tg.say("/council And tea or coffee?")
        await until(lambda: on.rows("select count(*) from inbox") == [(4,)])
        clock.ahead = 5.0
        gate.open()
        assert (await on.tg.reply(first, after=first)).text.startswith("All agree.")
        refused = await on.tg.reply(in_line, after=in_line, matching="still running when you sent this")
        assert refused.text.endswith("send it again.")
    assert len(on.ms.calls) == 7


async def test_two_people_may_each_have_one(on: BotHarness) -> None:
    enable_council(on)
    gate = on.ms.gate(when=at("openai", "answers"))
    async with running(on):
        await ask(on, f"/access allow {account(on.tg.user('bob'))}")
        first = on.tg.say(ASKED)
        await gate.reached(60.0)
        assert (await ask(on, ASKED, user="bob")).text.startswith("All agree.")
        gate.open()
        await on.tg.reply(first, after=first)


async def test_guests_learn_the_required_role(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        await ask(on, "/access here on", group="Team")
        refused = await ask(on, ASKED, user="bob", group="Team")
        assert refused.text == "/council needs the role user or higher; yours is guest."
    assert on.ms.calls == []


async def test_too_few_vendors_are_named_with_what_is_missing(on: BotHarness) -> None:
    enable_council(on, "openai")
    async with running(on):
        for typed in (ASKED, "/council"):
            text = (await ask(on, typed)).text
            assert f"at least 2 models from 2 vendors; I can ask {GPT}, openai/gpt-5.1." in text
            assert f"{CLAUDE} has no key (ANTHROPIC_API_KEY)" in text
            assert f"{GEMINI} has no key" in text
    assert on.ms.calls == []


async def test_models_in_cooldown_are_not_members_and_are_named(on: BotHarness) -> None:
    enable_council(on)
    on.ms.fail(401, when=at("anthropic", "answers"))
    async with running(on):
        message = on.tg.say(ASKED)
        await on.tg.reply(message, after=message, matching="🏛 2 of 3 answered")
        before = len(on.ms.calls)
        message = on.tg.say(ASKED)
        answer = await on.tg.reply(message, after=message, matching="All agree.")
        assert "🏛 3 of 3 answered." in answer.text
        assert answer.text.endswith(
            f"Skipped: {CLAUDE} is paused after repeated errors (anthropic refused the key in ANTHROPIC_API_KEY)."
        )
        assert "anthropic" in {call.vendor for call in on.ms.calls[before:]}, "its fallback is another member's model"


async def test_a_council_over_budget_is_refused_before_the_first_call(on: BotHarness) -> None:
    enable_council(on)
    on.config["budget"] = {"perUserDailyUsd": 0.02}
    async with running(on):
        refused = await ask(on, ASKED)
        assert "more than your limit of $0.02 a day allows. No model was asked." in refused.text
        assert on.ms.calls == []
    on.config["budget"] = {"perUserDailyUsd": 0.02, "atLimit": "warn"}
    async with running(on):
        assert "\n💰 This goes beyond your limit of $0.02 a day." in (await ask(on, ASKED)).text
    before = len(on.ms.calls)
    on.config["budget"] = {"perUserDailyUsd": 2.0}
    async with running(on):
        assert (await ask(on, ASKED)).text.startswith("All agree.")
        assert len(on.ms.calls) == before + 7
    [(spent,)] = on.rows("select sum(cost_nano) from usage")
    assert isinstance(spent, int)
    assert 0 < spent < 2e9


async def test_one_councils_cost_reduces_the_next_budget(on: BotHarness) -> None:
    enable_council(on)
    on.config["budget"] = {"perUserDailyUsd": 2.0}
    on.ms.pace = Script(usage=Usage(100_000, 100_000))
    async with running(on):
        assert (await ask(on, ASKED)).text.startswith("All agree.")
        assert "and exceed " in (await ask(on, "/council Tea or coffee?")).text
    assert len(on.ms.calls) == 7


async def stopped_at_once(on: BotHarness) -> None:
    """A council stopped while all three members are thinking, so no call has token counts."""
    gates = [on.ms.gate(when=at(vendor, "answers")) for vendor in MEMBERS]
    message = on.tg.say(ASKED)
    for gate in gates:
        await gate.reached(60.0)
    on.tg.say("/stop")
    await on.tg.reply(message, after=message, matching="⏹ Stopped.")
    for gate in gates:
        gate.open()


async def test_stopped_councils_are_charged(on: BotHarness) -> None:
    enable_council(on)
    on.config["budget"] = {"perUserDailyUsd": 0.25}
    async with running(on):
        await stopped_at_once(on)
        assert "and exceed " in (await ask(on, ASKED)).text, "another one is expected to cost $0.20"
    async with running(on):
        assert "and exceed " in (await ask(on, ASKED)).text, "nor after a restart"
    assert len(on.ms.calls) == 3


async def test_an_interrupted_council_needs_a_new_yes(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.app.GRACE_SECONDS", 0.1)
    enable_council(on)
    gate = on.ms.gate(when=at("openai", "answers"))
    async with running(on):
        message = on.tg.say(ASKED)
        await gate.reached(60.0)
    asked = len(on.ms.calls)
    async with running(on):
        offer = await on.tg.reply(message, after=message, matching="I was restarted")
        assert "If the council had already begun, its cost until then is not counted." in offer.text
        assert YES.match(labels(offer)[0])
        assert len(on.ms.calls) == asked
        gate = on.ms.gate(when=at("openai", "answers"))
        on.tg.press(labels(offer)[0], message=offer)
        await gate.reached(60.0)
    asked = len(on.ms.calls)
    async with running(on):
        again = await on.tg.reply(after=offer, matching="I was restarted")
        assert len(on.ms.calls) == asked, "nor after a yes"
        on.tg.press(labels(again)[0], message=again)
        assert (await on.tg.reply(after=again)).text.startswith("All agree.")


async def test_pictures_and_long_questions_are_refused(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        message = on.tg.say_photo(RED, caption=ASKED)
        assert "A council can only read text" in (await on.tg.reply(message, after=message)).text
        long = on.tg.say_document("long.txt", b"x" * 24_001, caption=ASKED)
        assert "the limit is 24,000" in (await on.tg.reply(long, after=long)).text
    assert on.ms.calls == []


async def test_attached_and_quoted_text_is_included(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        message = on.tg.say_document("notes.txt", b"four spaces", caption=ASKED)
        await on.tg.reply(message, after=message)
        assert on.ms.calls[0].last_user_text == "Tabs or spaces?\n\ninbox/notes.txt:\n```\nfour spaces\n```"
        quoted = on.tg.say("Is tea better than coffee?")
        await on.tg.reply(quoted, after=quoted)
        before = len(on.ms.calls)
        reply = on.tg.say("/council", reply_to=quoted)
        assert (await on.tg.reply(reply, after=reply)).text.startswith("All agree.")
        assert on.ms.calls[before].last_user_text == "> [I reply to Alice]\n> Is tea better than coffee?"


async def test_without_a_question_the_command_explains_itself_and_lists_members(on: BotHarness) -> None:
    enable_council(on)
    async with running(on):
        text = (await ask(on, "/council")).text
    assert text.startswith("🏛 A council:")
    assert f"Right now I would ask {GPT}, {CLAUDE}, {GEMINI}: about $0." in text
    assert on.ms.calls == []


async def test_tier_and_member_count_are_kept_until_the_yes(on: BotHarness) -> None:
    enable_council(on, above=0.0)
    async with running(on):
        offer = await ask(on, "/council smart 2 Tabs or spaces?")
        smart = [model.partition("/")[2] for model in POOLS["smart"][:2]]
        assert all(model in offer.text for model in smart)
        assert "Shall I ask 2 models" in offer.text
        assert labels(offer)[0].startswith("🏛 Ask 2 models · about $0.")
        on.tg.press(labels(offer)[0], message=offer)
        answer = await on.tg.reply(after=offer)
        assert "🏛 2 of 2 answered." in answer.text
        assert {call.model for call in on.ms.calls[:2]} == set(smart)
        assert on.rows("select text from messages where role = 'user'") == [("Tabs or spaces?",)]
        refused = (await ask(on, "/council 8 Tabs or spaces?")).text
        assert refused.startswith("A council has 2 to 7 members, not 8. No model was asked.")


async def test_fewer_models_than_asked_for_says_how_many_can_sit_and_why(on: BotHarness) -> None:
    enable_council(on, "openai", "anthropic")
    async with running(on):
        refused = (await ask(on, "/council 7 Tabs or spaces?")).text
    assert "You asked for 7 members, but only " in refused
    assert f"Skipped: {GEMINI}" in refused
    assert on.ms.calls == []
