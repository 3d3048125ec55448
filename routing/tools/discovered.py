"""Tools that are added during a turn, within the limits of the model and its provider."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from routing.config.presentation import MAX_DEFINITIONS
from routing.tools.presentation import DISCOVERY, Shown
from routing.types.decisions import Size
from routing.types.llm import ToolSpec
from routing.types.toolkits import QUARTERS, ToolCard, text_weight

MAX_FOUND = 5
SHARE = 2
"""One search, and all additions together, get at most 1 / this of a size class's tokens for tools."""


class DiscoveredTools:
    """The tools found and called in a turn, in order. While everything fits, definitions are only appended, for the
    providers' prompt caches."""

    def __init__(self, cards: Mapping[str, ToolCard], worth: Callable[[str], float]) -> None:
        """`worth` is the relevance of a tool on any scale; infinite for base tools."""
        self._cards = cards
        self._worth = worth
        self._added: dict[str, ToolCard] = {}
        self._found: list[str] = []
        self._called: set[str] = set()
        self._new: set[str] = set()
        self._explained: set[str] = set()

    @property
    def new(self) -> Collection[str]:
        """Tools that no model has been shown yet."""
        return self._new

    def found(self, cards: Sequence[ToolCard], size: Size, most_tokens: int) -> list[ToolCard]:
        """Add the first tools that fit, and return them."""
        room = QUARTERS * most_tokens // SHARE
        taken: list[ToolCard] = []
        for card in cards[:MAX_FOUND]:
            if card.weights[size] <= room:
                room -= card.weights[size]
                taken.append(card)
                self._add(card)
        self._found = [card.name for card in taken]
        return taken

    def called(self, name: str, *, undefined: bool) -> None:
        """Record a call. A tool that the model has not seen is added."""
        self._called.add(name)
        if undefined:
            self._add(self._cards[name])

    def is_explained(self, name: str) -> bool:
        """Whether a model has seen its parameters before the current answer, which may contain several calls."""
        return name in self._explained

    def extend(self, begun: Shown, size: Size, most_tokens: int) -> Shown:
        """`begun` with the additions, which count as shown from now on. What does not fit is dropped: tools found
        earlier and never called, oldest first, then the least relevant. Discovery and base tools stay."""
        defined = {spec.name for spec in begun.specs if spec.description}
        more = [card for name, card in self._added.items() if name not in defined]
        kept = (spec for spec in begun.specs if spec.name in defined or spec.name not in self._added)
        specs = (*kept, *(card.spec(size) for card in more))
        room = QUARTERS * (most_tokens + most_tokens // SHARE) - text_weight(begun.hint)
        if more:
            specs = self._fitting(specs, defined, size, room)
        self._explained |= {spec.name for spec in specs if spec.description} | (self._new & self._called)
        self._new.clear()
        return replace(begun, specs=specs)

    def _add(self, card: ToolCard) -> None:
        self._added.pop(card.name, None)
        self._added[card.name] = card
        self._new.add(card.name)

    def _fitting(
        self, specs: Sequence[ToolSpec], begun: Collection[str], size: Size, room: int
    ) -> tuple[ToolSpec, ...]:
        """The specs that fit, in the same order. Stubs weigh nothing."""
        ages = {name: age for age, name in enumerate(reversed(self._added))}

        def importance(spec: ToolSpec) -> tuple[float, float]:
            name = spec.name
            if name == DISCOVERY or (name in begun and self._worth(name) == math.inf):
                return 0, 0
            if name in self._called:
                return 1, ages.get(name, 0)
            if name in self._found:
                return 2, -ages[name]
            if name in begun:
                return 3, -self._worth(name)
            return (4, ages[name]) if spec.description else (5, 0)

        kept: set[str] = set()
        for spec in sorted(specs, key=importance):
            cost = self._cards[spec.name].weights[size] if spec.description else 0
            if (cost <= room or importance(spec) == (0, 0)) and len(kept) < MAX_DEFINITIONS:
                room -= cost
                kept.add(spec.name)
        return tuple(spec for spec in specs if spec.name in kept)
