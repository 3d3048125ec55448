"""Tool cards, and their form in a request."""

from __future__ import annotations

import json
from collections.abc import Sequence

from routing.tools.presentation import DISCOVERY, STUB, Candidate, Shown
from routing.types.decisions import SIZES, Size
from routing.types.llm import ToolSpec
from routing.types.toolkits import QUARTERS, ToolCard, ToolText, text_weight

CATEGORIES = ("info", "files", "home", "")
WIDE = 1_000_000


def card(name: str, length: int = 60, category: str = "", priority: float = 0) -> ToolCard:
    parameter = {"type": "object", "properties": {"subject": {"type": "string", "description": "What it is about."}}}
    texts = {size: ToolText(f"{size} {'d' * length}", parameter) for size in SIZES}
    return ToolCard(name, texts, category, priority=priority)


def candidate(name: str, relevance: float = 0, selected: bool = True, length: int = 60) -> Candidate:
    return Candidate(card(name, length), selected, relevance)


def eighty(selected: int = 20) -> list[Candidate]:
    """Relevance rises with the number; discovery is the least relevant and not selected."""
    tools = [
        Candidate(card(f"synthetic_tool_{number}", 60, CATEGORIES[number % 4]), number >= 79 - selected, number)
        for number in range(79)
    ]
    return [Candidate(card(DISCOVERY), False, -9), *tools]


def names(specs: Sequence[ToolSpec]) -> list[str]:
    return [spec.name for spec in specs]


def on_the_wire(shown: Shown) -> float:
    sent = [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
        }
        for each in shown.specs
    ]
    texts = (json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in sent)
    return sum(map(text_weight, (*texts, shown.hint))) / QUARTERS


def of_kinds(*kinds: str, about: str = "") -> list[Candidate]:
    """A tool of each kind, and discovery."""
    tools = [Candidate(card(f"tool_{at}", 9, kind), kind == about, -at) for at, kind in enumerate(kinds)]
    return [Candidate(card(DISCOVERY), False, -9, True), *tools]


def card_of(name: str, description: str) -> ToolCard:
    return ToolCard(name, {size: ToolText(description, STUB) for size in SIZES})


def spoken(told: ToolCard, text: str) -> dict[Size, ToolText]:
    return {size: ToolText(each.description + text, each.parameters) for size, each in told.texts.items()}
