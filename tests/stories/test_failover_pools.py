"""The owner decides the order of a pool."""

from __future__ import annotations

import pytest

from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import asked, at, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FILE = ["gemini/gemini-2.5-pro", "openai/gpt-5.2", "anthropic/claude-opus-4-5"]
ENVIRONMENT = ["anthropic/claude-opus-4-5", "gemini/gemini-2.5-flash"]


async def test_a_pool_is_tried_in_its_written_order(on: BotHarness) -> None:
    vendors(on, **{tier: {"pool": FILE} for tier in ("balanced", "smart")})
    on.env["TIER_SMART_POOL"] = ", ".join(ENVIRONMENT)
    async with running(on):
        for tier, pool in (("balanced", FILE), ("smart", ENVIRONMENT)):
            before = len(asked(on))
            for model in pool[:-1]:
                on.ms.fail(400, when=at(model.partition("/")[0]))
            answer = await ask(on, f"!{tier} hm")
            assert asked(on)[before:] == pool
            assert f"↪ {pool[-1]} answered: {pool[0]}: " in answer.text
