"""Applies what was learned from a person's use to the tools that were selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from routing.tools.selector import KEYWORD_ODDS, NO_KEYWORD_ODDS, SURE, Activated, ToolSelection
from routing.types.learning import Learned
from routing.types.toolkits import Toolkit

PROBABILITY = 0.75
"""Of a toolkit that only examples speak for. Too low to skip models that can't call tools (`routing.tools.offer`)."""


def with_learned(selection: ToolSelection, learned: Learned, toolkits: Sequence[Toolkit], most: int) -> ToolSelection:
    """The selection among `toolkits`, with those that examples show and without those that they hide. Base toolkits and
    toolkits in use are never hidden. No more than `most` toolkits are activated, or as many as were: learned ones take
    the place of the least likely."""
    relevance = dict(selection.relevance)
    hidden = {each.name for each in toolkits if learned.hides(each)}
    activated = [each for each in selection.activated if each.toolkit not in hidden or each.why == "used"]
    most = max(len(activated), most)
    for toolkit in toolkits:
        if toolkit.name in hidden:
            for card in toolkit.tools:
                relevance[card.name] = min(relevance.get(card.name, 0.0), NO_KEYWORD_ODDS)
        elif learned.shows(toolkit) and _admit(activated, toolkit.name, most):
            for card in toolkit.tools:
                if card.name in learned.called:
                    relevance[card.name] = max(relevance.get(card.name, 0.0), KEYWORD_ODDS)
    return replace(selection, activated=tuple(activated), relevance=relevance)


def _admit(activated: list[Activated], name: str, most: int) -> bool:
    """Add a toolkit unless it is there, in the place of an unlikely one if there are `most`. Whether it is there."""
    if any(each.toolkit == name for each in activated):
        return True
    if len(activated) >= most:
        unlikely = [each for each in activated if each.why in ("keyword", "embed") and each.score < SURE]
        if not unlikely:
            return False
        activated.remove(min(unlikely, key=lambda each: each.score))
    activated.append(Activated(name, "learned", PROBABILITY))
    return True
