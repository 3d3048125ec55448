"""The text of the system message, and that it stays the same for a provider's cache."""

from __future__ import annotations

from dataclasses import replace

from routing.turn.system_prompt import BASE_INSTRUCTIONS, TINY_INSTRUCTIONS, TOOL_ADVICE, Instructions
from routing.types.skills import Skill

SKILL = Skill("code-review", "Reviews code.", "coding", (), "Read the diff twice.")


def test_the_default_prompt_is_the_base_and_the_date() -> None:
    said = Instructions("", "", "Friday, 2026-01-02").message()
    assert said.role == "system"
    assert said.text == f"{BASE_INSTRUCTIONS}\n\nToday is Friday, 2026-01-02."


def test_the_owners_prompt_replaces_the_base_and_personal_instructions_follow() -> None:
    text = Instructions("Be a pirate.", "I am Ann.", "today").message().text
    assert text.startswith("Be a pirate.")
    assert BASE_INSTRUCTIONS not in text
    assert text.index("I am Ann.") > text.index("Be a pirate.")


def test_a_tiny_model_gets_a_short_base_and_all_instructions() -> None:
    own = Instructions("Be a pirate.", "I am Ann.", "today", skill=SKILL, tiny=True)
    assert own.message() == replace(own, tiny=False).message()
    plain = Instructions("", "", "today", tiny=True).message().text
    assert plain == f"{TINY_INSTRUCTIONS}\n\nToday is today."
    assert len(TINY_INSTRUCTIONS) < len(BASE_INSTRUCTIONS)


def test_tools_add_their_instructions() -> None:
    assert TOOL_ADVICE in Instructions("", "", "today", has_tools=True).message().text
    assert TOOL_ADVICE not in Instructions("", "", "today").message().text


def test_a_skill_adds_its_body_and_an_effective_tier() -> None:
    chosen = Instructions("", "", "today", skill=SKILL, skill_chose_tier=True).message().text
    locked = Instructions("", "", "today", skill=SKILL).message().text
    assert "Read the diff twice." in chosen
    assert "Read the diff twice." in locked
    assert "`coding` tier" in chosen
    assert "coding" not in locked


def test_stable_parts_come_first() -> None:
    monday = Instructions("", "Ann", "Monday", True, skill=SKILL).message().text
    tuesday = Instructions("", "Ann", "Tuesday", True, skill=SKILL).message().text
    assert monday != tuesday
    assert monday.partition("Today is")[0] == tuesday.partition("Today is")[0]
