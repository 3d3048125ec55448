"""The demo model introduces itself and leaves calculations to the tools."""

from __future__ import annotations

import logging

import pytest

from handlers.demo_model import NOTE, TOPICS, Demo
from routing.types.decisions import TierDecision
from routing.types.people import Person
from routing.types.tools import ToolScope
from tests.polling import until
from tests.stories.harness import BotHarness, ask, running

PLAIN = NOTE.replace("`", "")
SUNDAY = 1_763_841_600.0
"""2025-11-22 20:00 UTC, a Saturday."""


@pytest.fixture
def keyless(on: BotHarness) -> BotHarness:
    """No key, no Ollama: the demo model."""
    on.env["OPENAI_API_KEY"] = ""
    on.config["llm"] = {}
    return on


async def test_the_demo_model_is_named_in_start_and_tier(keyless: BotHarness) -> None:
    async with running(keyless):
        assert PLAIN in (await ask(keyless, "/start")).text
        assert PLAIN in (await ask(keyless, "/tier")).text


async def test_the_demo_model_is_named_in_the_startup_log(
    keyless: BotHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running(keyless):
        await until(lambda: NOTE in caplog.text)


async def test_the_demo_model_is_named_under_its_answers(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model server stands in for it, because its own answers take long."""
    monkeypatch.setattr("handlers.chat.LOCAL_MODEL", "openai/gpt-5.1")
    async with running(on):
        assert (await ask(on, "hello")).text == f"You said: hello\n\n{PLAIN}"
        assert (await ask(on, "!deep hello")).text == "You said: hello"


async def test_the_demo_model_uses_tools_and_declines_the_rest(keyless: BotHarness) -> None:
    async with running(keyless):
        assert (await ask(keyless, "What is 17 * 23?")).text == "17 * 23 = 391"
        declined = (await ask(keyless, "Which dose of ibuprofen may I take?")).text
        assert declined.startswith("The demo model doesn't answer questions about medicine.")
        await ask(keyless, "/settings language de")
        text = (await ask(keyless, "Regnet es morgen in Bonn?")).text
        assert text.startswith("Das Demo-Modell beantwortet keine Fragen zu Wetter.")
        assert keyless.ms.calls == []


async def test_a_bot_with_a_key_declines_nothing(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "What is 17 * 23?")).text == "You said: What is 17 * 23?"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("What is 15% of 80?", "15% of 80 = 12"),
        ("what's 12 plus 30", "12 + 30 = 42"),
        ("Was ist 3 mal 4?", "3 * 4 = 12"),
        ("square root of 144", "sqrt(144) = 12"),
        ("5 km in miles", "5 km in miles = 3.10685596118667 miles"),
        ("What time is it?", "Saturday, 2025-11-22 20:00:00 UTC (UTC+00:00, UTC, week 47, day 326)"),
        ("What time is it in Tokyo?", "Sunday, 2025-11-23 05:00:00 JST (UTC+09:00, Asia/Tokyo, week 47, day 327)"),
        ("Wie spät ist es?", "Saturday, 2025-11-22 20:00:00 UTC (UTC+00:00, UTC, week 47, day 326)"),
        ("What's the date?", "Saturday, 2025-11-22 20:00:00 UTC (UTC+00:00, UTC, week 47, day 326)"),
        ("Will it rain tomorrow?", "the weather"),
        ("Wie wird das Wetter?", "the weather"),
        ("I have a fever, what helps?", "medicine"),
        ("Can my landlord do that?", "law"),
        ("If I have 3 apples and add 4, how many?", "arithmetic"),
        ("How many days until Christmas?", "dates and times"),
        ("When is Easter?", "dates and times"),
        ("Hello!", None),
        ("What is the capital of France?", None),
        ("Tell me about 1984", None),
        ("1984", None),
        ("Have a nice day", None),
    ],
)
async def test_the_answering_model_by_configuration(asked: str, answer: str | None) -> None:
    scope = ToolScope(Person(1, "owner", "Alice"), 1, TierDecision("balanced", "default", ""))
    found = await Demo(lambda: SUNDAY).answer(asked, scope)
    assert found == answer
    assert found is None or (found in TOPICS) == (answer in TOPICS)
