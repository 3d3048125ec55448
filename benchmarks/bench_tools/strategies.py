"""The ways to show the study's tools: as they were published, and ours with the limits of each size class."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from benchmarks.bench_tools.ranking import Ranking
from handlers.tools.authoring.manifests import FOLDER, our_toolkit
from routing.config.presentation import PRESENTATIONS, Presentation, Strategy
from routing.tools.presentation import DISCOVERY, Candidate, Shown, present
from routing.types.decisions import Size
from routing.types.llm import ToolSpec
from routing.types.toolkits import ToolCard, Toolkit

WIDE = 1_000_000
"""A limit that never applies."""
Published = Literal["all in full", "all, reordered", "8 + stubs", "top 8 + names", "top 5 + discovery"]
PUBLISHED: tuple[Published, ...] = get_args(Published)
OURS: tuple[Strategy, ...] = get_args(Strategy)
BESIDE: Mapping[str, Strategy] = {f"{strategy} beside ours": strategy for strategy in OURS}
"""The strategies with the study's tools beside the bot's own, as in the bot."""
WAYS: tuple[str, ...] = (*PUBLISHED, *OURS, *BESIDE)


@dataclass(frozen=True, slots=True)
class Presented:
    """What a model is shown by one way; `detailed` are the tools with a description, `named` those by name alone."""

    shown: Shown
    detailed: frozenset[str]
    named: frozenset[str]


def default(size: Size) -> str:
    """What the bot does for a class."""
    return next(way for way, strategy in BESIDE.items() if strategy == PRESENTATIONS[size].strategy)


def discovery() -> ToolCard:
    """Our own tool that finds the others."""
    return next(card for card in our_toolkit("conversation").tools if card.name == DISCOVERY)


@lru_cache(maxsize=1)
def our_toolkits(taken: frozenset[str]) -> tuple[Toolkit, ...]:
    """The bot's own tools, without those whose names are `taken`."""
    found = (our_toolkit(path.stem) for path in sorted(FOLDER.glob("*.json")))
    return tuple(replace(kit, tools=tuple(card for card in kit.tools if card.name not in taken)) for kit in found)


def presented(way: str, ranking: Ranking, cards: Sequence[ToolCard], size: Size, finder: ToolCard) -> Presented:
    """One of WAYS. The published ones have no selection, only an order by relevance and a fixed number."""
    if way in BESIDE:
        return _beside(BESIDE[way], ranking, cards, size)
    everything = [Candidate(card, True, ranking.odds[card.name]) for card in cards]
    found = Candidate(finder, True, min(ranking.odds.values()) - 1)
    match way:
        case "all in full":
            shown = present(everything, size, Presentation("full", WIDE, WIDE))
        case "all, reordered":
            shown = present(everything, size, Presentation("reorder", WIDE, WIDE))
        case "8 + stubs":
            shown = present(everything, size, Presentation("hybrid", 8, WIDE))
        case "top 8 + names":
            shown = present([*everything, found], size, Presentation("top_k", 9, WIDE))
        case "top 5 + discovery":
            best = sorted(everything, key=lambda each: -each.relevance)[:5]
            shown = present([*best, found], size, Presentation("top_k", 6, WIDE))
        case _:
            strategy = next(each for each in OURS if each == way)
            candidates = [
                Candidate(card, bool({card.category, card.name} & ranking.chosen), ranking.odds[card.name])
                for card in cards
            ]
            shown = present([*candidates, found], size, replace(PRESENTATIONS[size], strategy=strategy))
    return _presented(shown, {card.name for card in cards})


def _beside(strategy: Strategy, ranking: Ranking, cards: Sequence[ToolCard], size: Size) -> Presented:
    names, odds = {card.name for card in cards}, ranking.odds
    candidates = [
        *(
            Candidate(card, kit.name in ranking.chosen, odds[card.name], kit.base)
            for kit in our_toolkits(frozenset(names))
            for card in kit.tools
        ),
        *(Candidate(card, card.category in ranking.chosen, odds[card.name]) for card in cards),
    ]
    return _presented(present(candidates, size, replace(PRESENTATIONS[size], strategy=strategy)), names)


def _presented(shown: Shown, names: set[str]) -> Presented:
    """Names cut from the name list are not shown."""
    detailed = {spec.name for spec in shown.specs if spec.description} & names
    stubs = {spec.name for spec in shown.specs if not spec.description}
    line = {name for name in re.findall(r"\w+", shown.hint)}
    return Presented(shown, frozenset(detailed), frozenset(((stubs | line) & names) - detailed))


def definitions(specs: Sequence[ToolSpec]) -> list[Mapping[str, Any]]:
    """In OpenAI's form."""
    return [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
        }
        for spec in specs
    ]


def on_the_wire(shown: Shown) -> str:
    """All that a request carries for the tools: definitions as a client writes them, and the sentence about them."""
    return json.dumps(definitions(shown.specs), ensure_ascii=False, separators=(",", ":")) + shown.hint
