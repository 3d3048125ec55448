"""An Ollama model without a size in its name: the size is looked up in the background, and no turn waits for it."""

from __future__ import annotations

import pytest

from tests.polling import until
from tests.stories.harness import BotHarness, ask, running

LEARNED = "Size class: S (1.2B, according to the provider)."


@pytest.fixture
def ollama_only(on: BotHarness) -> BotHarness:
    """Ollama is the model server, and has one model."""
    on.config["llm"] = {"providers": {"ollama": {"baseUrl": f"{on.ms.vendor('ollama_only')}/v1", "apiType": "openai"}}}
    on.env["TIER_BALANCED_POOL"] = "ollama/odd"
    on.ms.parameter_sizes["odd"] = "1.2B"
    return on


async def test_status_shows_ollamas_size(ollama_only: BotHarness) -> None:
    async with running(ollama_only):
        await ollama_only.ms.journal.wait(
            lambda: [each.endpoint for each in ollama_only.ms.journal] == ["show", "ps"], 30
        )
        await ollama_only.ms.journal[1].finished()
        assert (await ask(ollama_only, "hello")).text == "You said: hello"
        assert LEARNED in (await ask(ollama_only, "/status full")).text


async def test_a_turn_does_not_wait_for_a_silent_ollama(ollama_only: BotHarness) -> None:
    ollama_only.ms.tells_sizes.clear()
    async with running(ollama_only):
        assert (await ask(ollama_only, "hello")).text == "You said: hello"
        text = (await ask(ollama_only, "/status full")).text
        assert "Size class: M (unknown" in text
        assert "Context window: 4,096 tokens (Ollama's default" in text
        journal = ollama_only.ms.journal
        await until(lambda: [each.outcome for each in journal if each.endpoint == "show"] == ["pending"])
