"""LiteLLM's complexity heuristics, mapped to tiers as favourably as possible."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement

from routing.types.tiers import Tier

RISING: tuple[Tier, ...] = ("balanced", "smart", "deep")
CLASSES = ("SIMPLE", "MEDIUM", "COMPLEX", "REASONING")


def litellm_classes() -> Mapping[str, Callable[[str], tuple[int, bool]]]:
    """LiteLLM's two heuristics that call no model: a class from 0 to 3, and whether code was found."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from litellm import Router
    from litellm.router_strategy.complexity_router import ComplexityRouter

    tiers = {name: name.lower() for name in CLASSES}
    first = ComplexityRouter("auto", Router(model_list=[]), {"tiers": tiers})
    second = ComplexityRouter("auto", Router(model_list=[]), {"tiers": tiers, "classifier_type": "heuristic_v2"})

    def scored(text: str) -> tuple[int, bool]:
        tier, _, signals = first.classify(text)
        return CLASSES.index(tier.value), any(signal.startswith("code") for signal in signals)

    def learned(text: str) -> tuple[int, bool]:
        outcome = second._classify_with_heuristic_v2(text)
        return CLASSES.index(outcome.tier.value), any("code" in signal for signal in outcome.signals)

    return {"LiteLLM complexity": scored, "LiteLLM heuristic v2": learned}


def fairest(
    classify: Callable[[str], tuple[int, bool]], rows: Sequence[tuple[str, tuple[Tier, ...]]]
) -> tuple[Callable[[str], Tier], str]:
    """The mapping of classes that is right most often for texts with accepted tiers, and its description."""
    found = [(classify(text), accepted) for text, accepted in rows]

    def right(way: tuple[tuple[Tier, ...], bool]) -> int:
        return sum(_read_as(each, *way) in accepted for each, accepted in found)

    ways = [(tiers, coding) for tiers in combinations_with_replacement(RISING, 4) for coding in (True, False)]
    tiers, coding = max(ways, key=right)
    return lambda text: _read_as(classify(text), tiers, coding), " ".join((*tiers, "+ coding" if coding else ""))


def _read_as(classified: tuple[int, bool], tiers: Sequence[Tier], coding: bool) -> Tier:
    return "coding" if coding and classified[1] else tiers[classified[0]]
