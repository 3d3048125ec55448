"""/tier and the prefix: what a person chose, why it applies, and that it reaches the model."""

import time

import pytest

from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, ask, press, running


def first_line(message: Message) -> str:
    return message.text.splitlines()[0]


def labels(message: Message) -> list[list[str]]:
    rows = (message.reply_markup or {})["inline_keyboard"]
    return [[button["text"] for button in row] for row in rows]


async def test_tier_shows_the_stored_choice_and_the_one_in_effect(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/tier")
    lines = shown.text.splitlines()
    assert lines[0] == "Tier: balanced, Force: off"
    assert lines[1] == "In effect: balanced, because nothing else was chosen."
    assert "openai/gpt-5.1" in lines[2]
    assert "medium" in lines[2]
    assert on.ms.calls == []


async def test_a_locked_tier_survives_a_restart_and_reaches_the_model(on: BotHarness) -> None:
    async with running(on):
        assert first_line(await ask(on, "/tier smart force")) == "Tier: smart, Force: on"
    async with running(on):
        shown = await ask(on, "/TIER")
        assert shown.text.splitlines()[:2] == [
            "Tier: smart, Force: on",
            "In effect: smart, because you locked it with /tier smart force.",
        ]
        await ask(on, "hi")
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.1", "high")


async def test_a_tier_without_the_word_force_clears_the_lock(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier smart force")
        assert first_line(await ask(on, "/tier CODING")) == "Tier: coding, Force: off"
        await ask(on, "hi")
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "medium")


REFUSALS = {
    "/tier turbo": ["turbo", "balanced, smart, coding, deep"],
    "/tier smrt": ["did you mean smart?", "balanced, smart, coding, deep"],
    "/tier deep please": ["Only the word force"],
    "/tier deep force now": ["/tier smart force"],
}


async def test_an_unknown_tier_is_explained_and_not_saved(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier smart force")
        for typed, named in REFUSALS.items():
            refusal = await ask(on, typed)
            for words in [*named, "Nothing was changed"]:
                assert words in refusal.text
        assert first_line(await ask(on, "/tier")) == "Tier: smart, Force: on"
    assert on.rows("select tier, force from preferences") == [("smart", 1)]


async def test_commands_ignore_blanks_case_and_the_bots_name(on: BotHarness) -> None:
    async with running(on):
        assert first_line(await ask(on, "  /Tier@TierBot   deep  FORCE ")) == "Tier: deep, Force: on"


@pytest.mark.parametrize("group", [None, "Team"])
async def test_a_command_for_another_bot_is_ignored(on: BotHarness, group: str | None) -> None:
    async with running(on):
        if group:
            await ask(on, "/access here on", group=group)
        on.tg.say("/tier@OtherBot deep", group=group)
        shown = await ask(on, "/tier", group=group)
        assert first_line(shown) == "Tier: balanced, Force: off"
        assert len(shown.chat.from_bot()) == (2 if group else 1)
    assert on.ms.calls == []


async def test_the_keyboard_ticks_the_current_tier_and_is_redrawn_in_place(on: BotHarness) -> None:
    async with running(on):
        menu = await ask(on, "/tier")
        assert labels(menu) == [["✅ balanced", "smart"], ["coding", "deep"], ["auto", "🔒 Force"]]
        await press(on, "deep", menu)
        assert first_line(menu) == "Tier: deep, Force: off"
        assert labels(menu) == [["balanced", "smart"], ["coding", "✅ deep"], ["auto", "🔒 Force"]]
        await press(on, "🔒 Force", menu)
        assert first_line(menu) == "Tier: deep, Force: on"
        assert labels(menu)[2] == ["auto", "🔓 Unlock"]
        await press(on, "🔓 Unlock", menu)
        assert first_line(menu) == "Tier: deep, Force: off"
        assert menu.chat.from_bot() == [menu]
        again = on.tg.press("deep", message=menu)
        await on.tg.answered(again)
        await ask(on, "hi")
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "xhigh")


async def test_a_press_after_a_restart_works(on: BotHarness) -> None:
    async with running(on):
        menu = await ask(on, "/tier")
    async with running(on):
        await press(on, "coding", menu)
        assert first_line(menu) == "Tier: coding, Force: off"


async def test_a_press_by_another_person_is_refused(on: BotHarness) -> None:
    bob = on.tg.user("bob")
    async with running(on):
        await ask(on, "/access here on", group="Team")
        menu = await ask(on, "/tier", group="Team")
        answer = await on.tg.answered(on.tg.press("deep", message=menu, user=bob))
        assert answer["text"] == "This button is for someone else."
        assert len(menu.versions) == 1
        assert first_line(await ask(on, "/tier", user=bob, group="Team")) == "Tier: balanced, Force: off"
        assert first_line(await ask(on, "/tier", group="Team")) == "Tier: balanced, Force: off"


async def test_an_expired_button_is_refused(on: BotHarness) -> None:
    ahead = 0.0
    async with running(on, lambda: time.time() + ahead):
        menu = await ask(on, "/tier")
        ahead = 8 * 24 * 3600.0
        answer = await on.tg.answered(on.tg.press("deep", message=menu))
        assert answer["text"] == "This button has expired. Send the command again."
        assert first_line(await ask(on, "/tier")) == "Tier: balanced, Force: off"


async def test_a_forged_button_is_refused(on: BotHarness) -> None:
    async with running(on):
        menu = await ask(on, "/tier")
        for data in ("t:999999:0.0", "t:1:7.7", "nonsense"):
            answer = await on.tg.answered(on.tg.press(data, message=menu, force=True))
            assert answer["text"] == "This button is no longer valid."


async def test_the_tier_is_per_person_across_conversations(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "/tier deep")
        assert first_line(await ask(on, "/tier", user="bob")) == "Tier: balanced, Force: off"
        await ask(on, "hi", user="bob")
        assert on.ms.last.model == "gpt-5.1"
        await ask(on, "/new")
        assert first_line(await ask(on, "/tier")) == "Tier: deep, Force: off"
        assert first_line(await ask(on, "/tier", group="Team")) == "Tier: deep, Force: off"
        on.tg.say("@tierbot hi", group="Team")
        await on.ms.wait_requests(2)
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "xhigh")


@pytest.mark.parametrize("typed", ["!smart why?", "  !SMART   why?", "!smart\nwhy?"])
async def test_a_prefix_applies_to_one_turn_and_is_removed(on: BotHarness, typed: str) -> None:
    async with running(on):
        await ask(on, "/tier coding force")
        await ask(on, typed)
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.1", "high")
        assert on.ms.last.last_user_text == "why?"
        await ask(on, "and now?")
        assert on.ms.last.model == "gpt-5.2"
        assert "!smart" not in str(on.ms.last.body).lower()
        assert first_line(await ask(on, "/tier")) == "Tier: coding, Force: on"


async def test_a_prefix_works_in_a_reply(on: BotHarness) -> None:
    async with running(on):
        reply = await ask(on, "tell me")
        message = on.tg.say("!deep really?", reply_to=reply)
        await on.tg.reply(after=message)
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "xhigh")
    assert "!deep" not in str(on.ms.last.body)
    assert on.ms.last.last_user_text == f"> [I reply to Tierbot]\n> {reply.text}\n\nreally?"


@pytest.mark.parametrize("typed", ["!turbo hi", "!smrt hi"])
async def test_a_mistyped_prefix_calls_no_model(on: BotHarness, typed: str) -> None:
    async with running(on):
        text = (await ask(on, typed)).text
    assert text.startswith(f"There is no tier {typed.split()[0]}.")
    assert "!smart" in text
    assert on.ms.calls == []


async def test_text_that_resembles_a_prefix_is_unchanged(on: BotHarness) -> None:
    async with running(on):
        for typed in ("!wow why?", "why !smart?", "!!smart x", "! smart x"):
            await ask(on, typed)
            assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.1", "medium")
            assert on.ms.last.last_user_text == typed


async def test_a_bare_prefix_asks_for_the_question(on: BotHarness) -> None:
    async with running(on):
        refusal = await ask(on, "!smart")
    assert "!smart" in refusal.text
    assert on.ms.calls == []


async def test_without_any_key_tier_says_that_the_local_model_serves_all(on: BotHarness) -> None:
    on.env["OPENAI_API_KEY"] = ""
    on.config["llm"] = {"providers": {}}
    async with running(on):
        shown = await ask(on, "/tier deep")
    assert first_line(shown) == "Tier: deep, Force: off"
    assert "local/smollm2-135m-instruct" in shown.text
    assert "No API key for anthropic, openai, so the demo model answers." in shown.text


async def test_an_environment_pool_shows_fallbacks_and_skipped_models(on: BotHarness) -> None:
    on.env["TIER_SMART_POOL"] = "anthropic/claude-opus-4-5, openai/gpt-4.1 ,, openai/gpt-5"
    async with running(on):
        shown = await ask(on, "/tier smart")
        await ask(on, "hi")
    assert "`" not in shown.text
    assert "openai/gpt-4.1 (fallback)" in shown.text
    assert "Skipped (no API key): anthropic/claude-opus-4-5." in shown.text
    assert "If it fails: openai/gpt-5." in shown.text
    assert on.ms.last.model == "gpt-4.1"
