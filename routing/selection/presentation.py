"""What a model of each size is told of the tools: small models choose well among few, large ones among many."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from routing.calls import ToolSpec
from routing.sizes import Size
from routing.toolkits import ToolCard

Strategy = Literal["top_k", "reorder", "full", "hybrid"]
"""The most relevant ones, all others by name; all selected ones by relevance; all selected ones in stable order; the
most relevant ones, all others as definitions without description and parameters (as yantrikos/tier published it)."""

CHARS_PER_TOKEN = 4.0
"""Of JSON in English; a rule of thumb."""
DISCOVERY = "discover_tools"
STUB: Mapping[str, object] = {"type": "object", "properties": {}}
ASK_FOR_CALLS = "When a tool fits, call it at once instead of describing what you would do."


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a size class is shown tools, and its limits: definitions, and tokens of definitions and names together. The
    stubs of `hybrid` come on top of both, as published."""

    strategy: Strategy
    most_tools: int
    most_tokens: int


PRESENTATIONS: Mapping[Size, Presentation] = {
    "S": Presentation("top_k", 8, 800),
    "M": Presentation("top_k", 12, 2_000),
    "L": Presentation("reorder", 40, 8_000),
    "XL": Presentation("full", 128, 32_000),
}
"""S and M: published runs of a 1.5 B model got best with 4 to 8 tools. 128 is what OpenAI takes."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that may be shown: whether it was selected for this message, and how relevant it is (any scale)."""

    card: ToolCard
    selected: bool
    relevance: float


@dataclass(frozen=True, slots=True)
class Shown:
    """Definitions in order, tools told by name only, and a sentence for the system message."""

    specs: tuple[ToolSpec, ...]
    names: tuple[str, ...] = ()
    hint: str = ""

    @property
    def tokens(self) -> int:
        """Our estimate of what all of it costs in one request."""
        return tokens(self.specs) + round(len(self.hint) / CHARS_PER_TOKEN)


def tokens(specs: Sequence[ToolSpec]) -> int:
    """Our estimate for definitions on the wire."""
    return round(sum(map(_length, specs)) / CHARS_PER_TOKEN)


def present(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    """What a model of this size is shown of `candidates`, which come in their stable order."""
    match presentation.strategy:
        case "top_k":
            return _top_k(candidates, size, presentation)
        case "hybrid":
            return _hybrid(candidates, size, presentation)
        case "reorder":
            shown = _fitting([each for each in _by_relevance(candidates) if each.selected], size, presentation)
            return Shown(shown, hint=_categories(shown, candidates))
        case "full":
            kept = {spec.name for spec in _fitting(_by_relevance(candidates, selected=True), size, presentation)}
            return Shown(tuple(each.card.spec(size) for each in candidates if each.card.name in kept))


def _top_k(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    ranked = list(_by_relevance(candidates))
    for count in range(min(presentation.most_tools, len(ranked)), 0, -1):
        if count < len(ranked):
            ranked.sort(key=lambda each: each.card.name != DISCOVERY)
        specs = tuple(each.card.spec(size) for each in ranked[:count])
        names = [each.card.name for each in ranked[count:]]
        room = presentation.most_tokens - tokens(specs)
        shown = Shown(specs, tuple(names), _names(names, room, size))
        if shown.tokens <= presentation.most_tokens:
            return Shown(_discovery_last(specs), shown.names, shown.hint)
    return Shown(())


def _hybrid(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    ranked = list(_by_relevance(candidates))
    detailed = _fitting(ranked, size, presentation)
    return Shown((*detailed, *(ToolSpec(each.card.name, "", STUB) for each in ranked[len(detailed) :])))


def _by_relevance(candidates: Sequence[Candidate], selected: bool | None = None) -> Iterator[Candidate]:
    """Selected ones first, each part by relevance, equals by priority, then in stable order."""
    ranked = sorted(candidates, key=lambda each: (not each.selected, -each.relevance, -each.card.priority))
    return iter([each for each in ranked if selected is None or each.selected == selected])


def _fitting(
    ranked: Iterator[Candidate] | Sequence[Candidate], size: Size, limits: Presentation
) -> tuple[ToolSpec, ...]:
    """As many from the front as the limits allow."""
    specs: list[ToolSpec] = []
    room = limits.most_tokens * CHARS_PER_TOKEN
    for each in ranked:
        spec = each.card.spec(size)
        room -= _length(spec)
        if room < 0 or len(specs) == limits.most_tools:
            break
        specs.append(spec)
    return tuple(specs)


def _discovery_last(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    return tuple(sorted(specs, key=lambda spec: spec.name == DISCOVERY))


def _names(names: Sequence[str], room: int, size: Size) -> str:
    """One line, cut to what there is room for."""
    plain = f" {ASK_FOR_CALLS}" if size == "S" else ""
    if not names:
        return plain.strip()
    line = f"More tools, to be found with {DISCOVERY}: "
    most = int(room * CHARS_PER_TOKEN) - len(line) - len(plain) - len(", … and 9999 more.")
    told: list[str] = []
    for name in names:
        most -= len(name) + 2
        if most < 0:
            break
        told.append(name)
    more = f"{', …' if told else ''} and {len(names) - len(told)} more" if len(told) < len(names) else ""
    return f"{line}{', '.join(told)}{more}.{plain}"


def _categories(specs: Sequence[ToolSpec], candidates: Sequence[Candidate]) -> str:
    """Which kinds of tools are there, in the order of the first of each."""
    of = {each.card.name: each.card.category for each in candidates}
    found: dict[str, list[str]] = {}
    for spec in specs:
        if category := of.get(spec.name):
            found.setdefault(category, []).append(spec.name)
    return "; ".join(f"{category}: {', '.join(names)}" for category, names in found.items()) and (
        "Tools by kind: " + "; ".join(f"{category}: {', '.join(names)}" for category, names in found.items()) + "."
    )


def _length(spec: ToolSpec) -> int:
    """Characters of the definition in OpenAI's form."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return len(json.dumps({"type": "function", "function": function}, ensure_ascii=False, separators=(",", ":")))
