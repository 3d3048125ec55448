"""What a model of each size is told of the tools: small models choose well among few, large ones among many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from routing.calls import ToolSpec
from routing.jsonfile import JsonObject
from routing.sizes import SIZES, Size
from routing.toolkits import ToolCard

Strategy = Literal["top_k", "reorder", "full", "hybrid"]
"""The most relevant ones, all others by name; all selected ones by relevance; all selected ones in stable order; the
most relevant ones, all others as definitions without description and parameters (as yantrikos/tier published it)."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

CHARS_PER_TOKEN = 4.0
"""Of JSON in English; a rule of thumb."""
TRIED = 4
"""Tools that are tried for each that may be shown."""
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


def read_presentations(tools: JsonObject) -> Mapping[Size, Presentation]:
    """`tools.presentation`: for each size class `strategy`, `maxTools`, `maxTokens`. Raises ConfigError."""
    given = tools.child("presentation")
    if given is None:
        return PRESENTATIONS
    unknown = next((name for name in given.values if name not in SIZES), None)
    if unknown is not None:
        raise given.file.fault((*given.path, unknown), f"is no size class: there are {', '.join(SIZES)}")
    found = dict(PRESENTATIONS)
    for size in SIZES:
        own = given.child(size)
        if own is not None:
            found[size] = _presentation(own, PRESENTATIONS[size])
    return found


def _presentation(own: JsonObject, usual: Presentation) -> Presentation:
    unknown = next((name for name in own.values if name not in ("strategy", "maxTools", "maxTokens")), None)
    if unknown is not None:
        raise own.file.fault((*own.path, unknown), "is unknown: there are strategy, maxTools, maxTokens")
    name = own.text("strategy", usual.strategy)
    strategy = next((each for each in STRATEGIES if each == name), None)
    if strategy is None:
        raise own.file.fault((*own.path, "strategy"), f"must be one of {', '.join(STRATEGIES)}")
    most = own.whole("maxTools", usual.most_tools), own.tokens("maxTokens", usual.most_tokens)
    return Presentation(strategy, *most)


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
            return Shown(shown, hint=_categories(candidates))
        case "full":
            kept = {spec.name for spec in _fitting(_by_relevance(candidates, selected=True), size, presentation)}
            return Shown(tuple(each.card.spec(size) for each in candidates if each.card.name in kept))


def _top_k(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    ranked = list(_by_relevance(candidates))
    specs = _fitting(ranked, size, presentation, _names((), 0, size))
    if len(specs) < len(ranked):  # the way to the others comes first
        ranked.sort(key=lambda each: each.card.name != DISCOVERY)
        specs = _fitting(ranked, size, presentation, _names([each.card.name for each in ranked], 0, size))
    shown = {spec.name for spec in specs}
    names = [each.card.name for each in ranked if each.card.name not in shown]
    stable = {each.card.name: place for place, each in enumerate(candidates)}
    line = _names(names, presentation.most_tokens - tokens(specs), size, stable.__getitem__)
    return Shown(_discovery_last(specs), tuple(names), line)


def _hybrid(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    ranked = list(_by_relevance(candidates))
    detailed = _fitting(ranked, size, presentation)
    shown = {spec.name for spec in detailed}
    stubs = (ToolSpec(each.card.name, "", STUB) for each in ranked if each.card.name not in shown)
    return Shown((*detailed, *stubs))


def _by_relevance(candidates: Sequence[Candidate], selected: bool | None = None) -> Iterator[Candidate]:
    """Selected ones first, each part by relevance, equals by priority, then in stable order."""
    ranked = sorted(candidates, key=lambda each: (not each.selected, -each.relevance, -each.card.priority))
    return iter([each for each in ranked if selected is None or each.selected == selected])


def _fitting(
    ranked: Iterator[Candidate] | Sequence[Candidate], size: Size, limits: Presentation, beside: str = ""
) -> tuple[ToolSpec, ...]:
    """As many from the front as the limits allow with the line `beside` them; one that is too long leaves its place to
    the next."""
    specs: list[ToolSpec] = []
    room = limits.most_tokens * CHARS_PER_TOKEN - (len(beside) + CHARS_PER_TOKEN if beside else 0)
    for each in islice(ranked, TRIED * limits.most_tools):
        spec = each.card.spec(size)
        length = _length(spec)
        if length <= room and len(specs) < limits.most_tools:
            specs.append(spec)
            room -= length
    return tuple(specs)


def _discovery_last(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    return tuple(sorted(specs, key=lambda spec: spec.name == DISCOVERY))


def _names(names: Sequence[str], room: int, size: Size, order: Callable[[str], int] | None = None) -> str:
    """One line, of the first ones that there is room for: the same for the same ones, whatever their relevance, where
    an `order` is given."""
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
    told.sort(key=order)
    return f"{line}{', '.join(told)}{more}.{plain}"


def _categories(candidates: Sequence[Candidate]) -> str:
    """Which kinds of tools there are, shown or not: the same for every message, for the providers' prompt caches."""
    kinds = list(dict.fromkeys(each.card.category for each in candidates if each.card.category))
    more = any(each.card.name == DISCOVERY for each in candidates)
    search = f" {DISCOVERY} finds those that you do not see." if more else ""
    return f"Kinds of tools here: {', '.join(kinds)}.{search}" if kinds else ""


def _length(spec: ToolSpec) -> int:
    """Characters of the definition in OpenAI's form."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return len(json.dumps({"type": "function", "function": function}, ensure_ascii=False, separators=(",", ":")))
