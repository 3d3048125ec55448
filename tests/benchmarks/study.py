"""A study of twenty tools in four families, given ranks, and a scripted model."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.bench_tools.endpoint import Answer
from benchmarks.bench_tools.ranking import Ranking
from benchmarks.bench_tools.study import Prompt, Study
from routing.tools.presentation import Shown

FAMILIES = ("files", "web", "mail", "clock")
TOOLS = [
    {
        "name": f"{family}_{number}",
        "category": family,
        "short": f"{family} {number}",
        "full": f"The tool {number} for {family}, told at length.",
        "parameters": {"path": "string", "names": "array", "deep": "boolean", "limit": "integer"},
    }
    for family in FAMILIES
    for number in range(5)
]
PROMPTS = [
    {"id": 0, "prompt": "the web please, number 3", "expected_tool": "web_3", "expected_family": "web"},
    {"id": 1, "prompt": "some mail", "expected_tool": "mail_0", "expected_family": "mail"},
]


def ranking(study: Study, right: str, best: Sequence[str], chosen: Sequence[str]) -> Ranking:
    """`best` first, then all others in order."""
    order = [*best, *(card.name for card in study.cards if card.name not in best)]
    odds = {name: -float(place) for place, name in enumerate(order)}
    return Ranking(Prompt("do it", right, right.partition("_")[0]), odds, frozenset(chosen))


class Scripted:
    """Calls the tools it was given."""

    def __init__(self, calls: Sequence[str | None]) -> None:
        self.calls = list(calls)
        self.asked: list[tuple[str, Shown]] = []

    def ask(self, prompt: str, shown: Shown) -> Answer:
        self.asked.append((prompt, shown))
        return Answer(self.calls.pop(0), 100, 0.5)
