"""How relevant the selector finds each tool of the study for a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.bench_tools.study import Prompt
from routing.tools.selection import build_selector
from routing.tools.selection.catalogue import rows
from routing.tools.selection.entries import NO_TOOL, entries
from routing.tools.selection.small_talk import small_talk
from routing.types.toolkits import Toolkit


@dataclass(frozen=True, slots=True)
class Ranking:
    """For one prompt: the odds of each tool by name, the groups (toolkits, or the tools themselves) that are shown."""

    prompt: Prompt
    odds: Mapping[str, float]
    chosen: frozenset[str]

    def rank(self) -> int:
        """The right tool's rank, from 1. Ties count before it, so a selector without information gains nothing."""
        right = self.odds[self.prompt.tool]
        return sum(odds >= right for name, odds in self.odds.items() if name != self.prompt.tool) + 1


def rankings(
    catalogue: Sequence[Mapping[str, Any]], prompts: Sequence[Prompt], beside: Sequence[Toolkit] = ()
) -> list[Ranking]:
    """One per prompt, by our selector without any example; `beside` are our toolkits with everything that the bot knows
    about them, and small talk."""
    ours, examples = rows(beside)
    catalogue = [*catalogue, *ours]
    selector = build_selector(catalogue, {**examples, NO_TOOL: small_talk()} if beside else {})
    names = [entry.name for entry in entries(catalogue, {})]
    found = []
    for prompt in prompts:
        decision = selector.decide(prompt.text)
        odds = dict(zip(names, map(float, decision.odds), strict=True))
        found.append(Ranking(prompt, odds, frozenset(each.name for each in decision.chosen)))
    return found
