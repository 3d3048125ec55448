"""What README shows of the first minute is what a newcomer without a key sees."""

from __future__ import annotations

from pathlib import Path

import httpx

from routing.local.runtime import LocalRuntime
from routing.models.catalog import BUNDLED, Catalog
from routing.models.choice import LOCAL_MODEL
from routing.prompt import Instructions

README = Path(__file__).resolve().parents[3] / "README.md"
DAYS = ("Monday, 2026-11-23", "Friday, 2026-12-25", "Thursday, 2027-07-15", "Saturday, 2028-01-01")
SEEDS = range(3)
RIGHT = 11
"""Of twelve: what README promises."""


def transcript() -> tuple[str, str]:
    """The first question that README shows, and the answer to it."""
    lines = README.read_text(encoding="utf-8").partition("$ make chat\n")[2].splitlines()
    assert lines[0].startswith("› ")
    return lines[0].removeprefix("› "), lines[1]


async def answers(runtime: LocalRuntime, question: str, tokens: int) -> list[str]:
    """As the program asks it with nothing configured, on several days, drawn with fixed seeds."""
    card = Catalog.load(BUNDLED).lookup(LOCAL_MODEL)
    address = await runtime.address(LOCAL_MODEL)
    found = []
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {address.api_key}"}, timeout=60) as web:
        for day in DAYS:
            system = Instructions("", "", day, tiny=card.tiny).message().text
            messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
            asked = {"messages": messages, "temperature": card.temperature, "max_tokens": tokens}
            for seed in SEEDS:
                given = await web.post(f"{address.base_url}/chat/completions", json={**asked, "seed": seed})
                found.append(str(given.raise_for_status().json()["choices"][0]["message"]["content"]))
    return found


async def test_the_question_in_the_readme_is_answered_as_the_readme_says(runtime: LocalRuntime) -> None:
    question, answer = transcript()
    found = await answers(runtime, question, tokens=12)
    assert found.count(answer) >= RIGHT, found


async def test_hello_is_greeted_back(runtime: LocalRuntime) -> None:
    found = await answers(runtime, "hello", tokens=2)
    assert [answer.startswith("Hello") for answer in found].count(True) >= RIGHT, found
