"""A tiny model gets a short prompt and a suitable temperature."""

from __future__ import annotations

from routing.turn.system_prompt import BASE_INSTRUCTIONS, TINY_INSTRUCTIONS
from tests.stories.harness import BotHarness, ask, running

TINY = {
    "provider": "openai",
    "displayName": "Tiny",
    "supportsTools": False,
    "temperature": 0.1,
    "maxInputTokens": 2048,
}


async def test_a_tiny_models_prompt_is_one_sentence_and_the_date(on: BotHarness) -> None:
    on.knows(**{"gpt-4.1": TINY})
    on.config["modelRouter"] = {"balancedModel": "openai/gpt-4.1"}
    async with running(on):
        await ask(on, "hi")
        system_text = on.ms.last.reading.system_text
        assert system_text.startswith(f"{TINY_INSTRUCTIONS}\n\nToday is ")
        assert system_text.count("\n\n") == 1
        assert (on.ms.last.reading.temperature, on.ms.last.reading.tool_names) == (0.1, ())
        await ask(on, "!smart hi")
        assert on.ms.last.reading.system_text.startswith(BASE_INSTRUCTIONS)
