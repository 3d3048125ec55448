"""The first minute of a new user without a key and without Ollama."""

from __future__ import annotations

import httpx

from routing.catalog.catalog import BUNDLED, Catalog
from routing.llm.local.runtime import LocalAddress
from routing.turn.system_prompt import Instructions
from routing.types.model_names import LOCAL_MODEL

DAYS = ("Monday, 2026-11-23", "Saturday, 2028-01-01")
SEEDS = range(2)
RIGHT = 3
"""Of four."""


async def answers(served: LocalAddress, question: str, tokens: int) -> list[str]:
    """The answers with the default configuration, on several days, with fixed seeds."""
    card = Catalog.load(BUNDLED).lookup(LOCAL_MODEL)
    found = []
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {served.api_key}"}, timeout=60) as web:
        for day in DAYS:
            system = Instructions("", "", day, tiny=card.tiny).message().text
            messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
            asked = {"messages": messages, "temperature": card.temperature, "max_tokens": tokens}
            for seed in SEEDS:
                given = await web.post(f"{served.base_url}/chat/completions", json={**asked, "seed": seed})
                found.append(str(given.raise_for_status().json()["choices"][0]["message"]["content"]))
    return found


async def test_an_easy_question_is_answered_right(served: LocalAddress) -> None:
    found = await answers(served, "What is the capital of France?", tokens=12)
    assert found.count("The capital of France is Paris.") >= RIGHT, found


async def test_hello_is_greeted_back(served: LocalAddress) -> None:
    found = await answers(served, "hello", tokens=2)
    assert [answer.startswith("Hello") for answer in found].count(True) >= RIGHT, found
