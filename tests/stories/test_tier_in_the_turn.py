"""Tier changes within a turn as the provider sees them, and what a lock forbids."""

from __future__ import annotations

import logging

import pytest

from tests.stories.harness import BotHarness, ask, running

REVIEW = "---\nname: code-review\ndescription: Reviews code.\nmodel_tier: coding\n---\nRead the diff twice."
BALANCED, SMART = ("gpt-5.1", "medium"), ("gpt-5.1", "high")
CODING, DEEP = ("gpt-5.2", "medium"), ("gpt-5.2", "xhigh")


def add_skill(on: BotHarness, name: str = "code-review", text: str = REVIEW) -> None:
    """Adds a skill to the workspace."""
    folder = on.workspace / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")


def seen(on: BotHarness) -> list[tuple[str, str | None]]:
    """Model and effort of every call so far."""
    return [(call.model, call.reading.effort) for call in on.ms.calls]


async def test_a_greeting_is_balanced(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
    assert seen(on) == [BALANCED]


async def test_a_skill_with_a_tier(on: BotHarness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    add_skill(on)
    async with running(on):
        shown = await ask(on, "/skill code-review")
        assert "because an active skill asks for it" in shown.text
        await ask(on, "look at this")
    assert seen(on) == [CODING]
    assert "Resolved tier: coding (source: skill 'code-review')" in caplog.text
    system = on.ms.last.reading.system_text
    assert "Read the diff twice." in system
    assert "coding" in system


async def test_a_lock_beats_the_skill(on: BotHarness) -> None:
    add_skill(on)
    async with running(on):
        await ask(on, "/skill code-review")
        await ask(on, "/tier smart force")
        await ask(on, "look at this")
    assert seen(on) == [SMART]
    system = on.ms.last.reading.system_text
    assert "Read the diff twice." in system
    assert "coding" not in system


async def test_writing_code_escalates_until_the_end_of_the_turn(
    on: BotHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    on.ms.call_tools([("write_file", {"path": "app.py", "content": "print('hi')\n"})])
    on.ms.reply("Written.")
    async with running(on):
        await ask(on, "make me a script")
        assert seen(on) == [BALANCED, CODING]
        await ask(on, "thanks")
    assert seen(on)[2] == BALANCED
    assert "[DynamicTier] Detected coding activity, upgrading tier: balanced -> coding" in caplog.text
    assert next((on.workspace / "files").rglob("app.py")).read_text() == "print('hi')\n"


@pytest.mark.parametrize(
    ("before", "config", "expected"),
    [
        ("/tier smart force", {}, [SMART, SMART]),
        ("/tier deep", {}, [DEEP, DEEP]),
        ("/tier balanced", {"modelRouter": {"dynamicTierEnabled": False}}, [BALANCED, BALANCED]),
        ("/tier smart", {}, [SMART, CODING]),
    ],
    ids=["forced", "never down", "disabled", "from smart"],
)
async def test_when_code_does_not_escalate(
    on: BotHarness, before: str, config: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    on.config |= config
    on.ms.call_tools([("write_file", {"path": "Makefile", "content": "all:\n"})])
    on.ms.reply("Written.")
    async with running(on):
        await ask(on, before)
        await ask(on, "make me a Makefile")
    assert seen(on) == expected


async def test_set_tier_applies_from_the_next_call_to_the_conversation(
    on: BotHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    on.ms.call_tools([("set_tier", {"tier": "deep"})])
    on.ms.reply("Thinking hard now.")
    async with running(on):
        await ask(on, "this is hard")
        assert seen(on) == [BALANCED, DEEP]
        assert "[TierTool] Tier changed to: deep" in caplog.text
        shown = await ask(on, "/tier")
        assert shown.text.splitlines()[:2] == [
            "Tier: balanced, Force: off",
            "In effect: deep, because the model switched to it in this conversation.",
        ]
    async with running(on):
        await ask(on, "go on")
        await ask(on, "/new")
        await ask(on, "hello")
    assert seen(on)[2:] == [DEEP, BALANCED]
    assert on.rows("select count(*) from preferences where tier is not null") == [(0,)]


async def test_the_tier_command_ends_the_models_switch(on: BotHarness) -> None:
    on.ms.call_tools([("set_tier", {"tier": "deep"})])
    on.ms.reply("Yes.")
    async with running(on):
        await ask(on, "this is hard")
        await ask(on, "/tier balanced")
        await ask(on, "hello")
    assert seen(on) == [BALANCED, DEEP, BALANCED]


@pytest.mark.parametrize(("before", "question"), [("/tier smart force", "hard"), ("/tier balanced", "!smart hard")])
async def test_a_lock_and_a_prefix_forbid_set_tier(on: BotHarness, before: str, question: str) -> None:
    on.ms.call_tools([("set_tier", {"tier": "deep"})])
    on.ms.reply("As you like.")
    async with running(on):
        await ask(on, before)
        await ask(on, question)
    assert seen(on) == [SMART, SMART]
    refused = on.ms.last.reading.tool_results[0].text
    assert "Tier is locked by user" in refused
    assert "/tier" in refused


async def test_set_tier_ignores_case_and_blanks(on: BotHarness) -> None:
    on.ms.call_tools([("set_tier", {"tier": " SMART "})])
    on.ms.reply("Yes.")
    async with running(on):
        await ask(on, "this is hard")
    assert seen(on) == [BALANCED, SMART]


async def test_an_unknown_tier_in_set_tier_lists_the_valid_ones(on: BotHarness) -> None:
    async with running(on):
        for arguments in ("{}", '{"tier": " "}', '{"tier": 3}', '{"tier": "turbo"}', '{"tier": null}'):
            on.ms.call_tools([("set_tier", arguments)])
            on.ms.reply("Sorry.")
            await ask(on, "hard")
            text = on.ms.last.reading.tool_results[-1].text
            assert all(tier in text for tier in ("balanced", "smart", "coding", "deep"))
    assert seen(on) == [BALANCED] * 10


async def test_the_newer_of_skill_and_set_tier_wins(on: BotHarness) -> None:
    add_skill(on)
    on.ms.call_tools([("use_skill", {"name": "code-review"})])
    on.ms.call_tools([("set_tier", {"tier": "deep"})])
    on.ms.reply("Done.")
    async with running(on):
        await ask(on, "review this thoroughly")
        assert seen(on) == [BALANCED, CODING, DEEP]
        assert "Read the diff twice." in on.ms.calls[1].reading.tool_results[0].text
        await ask(on, "/skill code-review")
        await ask(on, "and now")
    assert seen(on)[3] == CODING


async def test_skills_are_listed_with_the_broken_ones(on: BotHarness) -> None:
    add_skill(on)
    add_skill(on, "bad", "---\nname: [\n---\nx")
    async with running(on):
        shown = await ask(on, "/skills")
        assert "code-review" in shown.text
        assert "tier coding" in shown.text
        assert "bad is skipped" in shown.text
        assert "did you mean code-review?" in (await ask(on, "/skill codereview")).text
        on.tg.press("code-review", message=shown)
        await on.tg.wait_for(lambda _: "is active in this conversation" in shown.chat.from_bot()[0].text)
        assert "Skill: code-review." in (await ask(on, "/status full")).text
        assert "No skill is active" in (await ask(on, "/skill off")).text


THINKER = "---\nname: thinker\ndescription: Thinks.\nmodel_tier: smart\n---\nThink twice."
"""Its tier has the same model as balanced."""


async def test_a_skill_with_the_same_model_applies_without_changing_the_prompt(on: BotHarness) -> None:
    add_skill(on, "thinker", THINKER)
    on.ms.call_tools([("use_skill", {"name": "thinker"})])
    on.ms.reply("Thought.")
    async with running(on):
        await ask(on, "think")
    assert seen(on) == [BALANCED, SMART]
    text = on.ms.last.reading.tool_results[0].text
    assert "Because of it, the smart tier answers from now on" in text
    assert "Think twice." in text
    assert len({call.reading.system_text for call in on.ms.calls}) == 1, "the provider's prompt cache stays valid"


@pytest.mark.parametrize(
    ("before", "question"), [("/tier balanced force", "think"), ("/tier smart", "!balanced think")]
)
async def test_a_skill_does_not_announce_a_switch_forbidden_by_a_lock(
    on: BotHarness, before: str, question: str
) -> None:
    add_skill(on, "thinker", THINKER)
    on.ms.call_tools([("use_skill", {"name": "thinker"})])
    on.ms.reply("Thought.")
    async with running(on):
        await ask(on, before)
        await ask(on, question)
    assert seen(on) == [BALANCED, BALANCED]
    text = on.ms.last.reading.tool_results[0].text
    assert "Think twice." in text
    assert "tier" not in text


async def test_a_later_switch_replaces_a_skills_switch_and_its_text(on: BotHarness) -> None:
    add_skill(on, "thinker", THINKER)
    on.ms.call_tools([("set_tier", {"tier": "balanced"})])
    on.ms.reply("Quick now.")
    async with running(on):
        await ask(on, "/skill thinker")
        await ask(on, "be quick")
        assert seen(on) == [SMART, BALANCED]
        system_texts = [call.reading.system_text for call in on.ms.calls]
        assert system_texts[0] == system_texts[1]
        assert "`smart` tier; a later switch, by set_tier for instance, takes the place" in system_texts[1]
        await ask(on, "and now")
    assert seen(on)[2] == BALANCED
    assert "`smart` tier" not in on.ms.last.reading.system_text
