"""An Ollama model whose name says no size: the size is learnt while the bot runs, and no turn waits for it."""

from __future__ import annotations

import pytest

from tests.stories.harness import Stage, ask, running

LEARNED = "Size class: S (1.2B, according to the provider)."


@pytest.fixture
def house(on: Stage) -> Stage:
    """Ollama is the model server, and has one model."""
    on.config["llm"] = {"providers": {"ollama": {"baseUrl": f"{on.ms.vendor('house')}/v1", "apiType": "openai"}}}
    on.env["TIER_BALANCED_POOL"] = "ollama/odd"
    on.ms.parameter_sizes["odd"] = "1.2B"
    return on


async def test_status_shows_ollamas_size(house: Stage) -> None:
    async with running(house):
        await house.ms.journal.wait(lambda: [each.endpoint for each in house.ms.journal] == ["show", "ps"], 30)
        await house.ms.journal[1].finished()
        assert (await ask(house, "hello")).text == "You said: hello"
        assert LEARNED in (await ask(house, "/status full")).text


async def test_a_turn_does_not_wait_for_a_silent_ollama(house: Stage) -> None:
    house.ms.tells_sizes.clear()
    async with running(house):
        assert (await ask(house, "hello")).text == "You said: hello"
        told = (await ask(house, "/status full")).text
        assert "Size class: M (unknown" in told
        assert "Context window: 4,096 tokens (Ollama's default" in told
        assert [each.outcome for each in house.ms.journal if each.endpoint == "show"] == ["pending"]
