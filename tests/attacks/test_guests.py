"""A guest of a group cannot touch other people's turns, conversations or settings."""

from __future__ import annotations

import pytest

from tests.stories.access import account
from tests.stories.harness import BotHarness, ask, press, running

SHARED = (
    "/new",
    "/compact",
    "/history resume 1",
    "/skill off",
    "/settings streaming off",
)


async def opened(on: BotHarness) -> None:
    """The owner opens the group to guests and has talked there."""
    await ask(on, "/access here on", group="Team")
    await ask(on, "@tierbot hello", group="Team")


@pytest.mark.parametrize("words", ["/stop", "@tierbot stop"])
async def test_a_guest_can_only_stop_their_own_turn(on: BotHarness, words: str) -> None:
    async with running(on):
        await opened(on)
        for asker, stopped in ((None, False), ("bob", True)):
            gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
            asked = on.tg.say("@tierbot count", user=asker, group="Team")
            await gate.reached(60.0)
            said = on.tg.say(words, user="bob", group="Team")
            if not stopped:
                assert "Someone else asked" in (await on.tg.reply(said, after=said)).text
                gate.open()
            answer = await on.tg.reply(
                asked, after=asked, matching=lambda each: "four" in each.text or "Stopped" in each.text
            )
            assert ("Stopped" in answer.text) == stopped
            gate.open()


async def test_a_guest_cannot_change_shared_settings(on: BotHarness) -> None:
    async with running(on):
        await opened(on)
        before = on.rows("select id, tier, skill from conversations") + on.rows("select * from chats")
        for line in SHARED:
            assert "needs the role user" in (await ask(on, line, user="bob", group="Team")).text, line
        assert on.rows("select id, tier, skill from conversations") + on.rows("select * from chats") == before


async def test_a_guest_cannot_choose_a_model_a_lock_or_the_deep_tier(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        opening = await ask(on, "/access here on", group="Team")
        assert "without the deep tier, models of their own" in opening.text
        assert "yours is guest" in (await ask(on, "/model deep openai/gpt-5.2", user=bob, group="Team")).text
        assert "lock a tier" in (await ask(on, "/tier smart force", user=bob, group="Team")).text
        for line in ("/tier deep", "@tierbot !deep hi"):
            refused = await ask(on, line, user=bob, group="Team")
            assert "The best one for you is smart" in refused.text
        menu = await ask(on, "/tier smart", user=bob, group="Team")
        assert [button["text"] for button in menu.buttons] == ["balanced", "✅ smart", "coding", "auto"]
        calls = len(on.ms.calls)
        assert "best one for you" in (await ask(on, "/retry deep", user=bob, group="Team")).text or calls == 0


async def test_demotion_to_guest_removes_the_deep_tier_and_the_lock(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, "/access here on", group="Team")
        await ask(on, f"/access allow {account(bob)}")
        await ask(on, "/tier deep force", user=bob)
        await ask(on, "/model balanced openai/gpt-5-mini", user=bob)
        await ask(on, "@tierbot hi", user=bob, group="Team")
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "xhigh")
        await ask(on, f"/access role {account(bob)} guest")
        await ask(on, "@tierbot hi", user=bob, group="Team")
        assert on.ms.last.model == "gpt-5.1"


async def test_a_guest_cannot_press_other_peoples_buttons(on: BotHarness) -> None:
    async with running(on):
        await opened(on)
        menu = await ask(on, "/tier", group="Team")
        refused = await on.tg.answered(on.tg.press("deep", message=menu, user="bob"))
        assert refused["text"] == "This button is for someone else."
        await press(on, "deep", menu)
