"""What a model of each size is told of the tools: small models choose well among few, large ones among many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from operator import attrgetter
from typing import Literal, NamedTuple, get_args

from routing.calls import ToolSpec
from routing.jsonfile import JsonObject
from routing.sizes import SIZES, Size
from routing.toolkits import QUARTERS, ToolCard, text_weight, weight

Strategy = Literal["top_k", "reorder", "full", "hybrid"]
"""The most relevant ones, all others by name; all selected ones by relevance; all selected ones in stable order; the
most relevant ones, all others as definitions without description and parameters (as yantrikos/tier published it)."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

MOST_DEFINITIONS = 128
"""What OpenAI takes in one request, stubs among them."""
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
    "XL": Presentation("full", MOST_DEFINITIONS, 32_000),
}
"""S and M: published runs of a 1.5 B model got best with 4 to 8 tools."""


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


class Candidate(NamedTuple):
    """A tool that may be shown: whether it was selected for this message, how relevant it is (any scale), whether it
    is there for every message. A tuple: thousands are made for a message, in a quarter of the time."""

    card: ToolCard
    selected: bool
    relevance: float
    base: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Definitions in order, tools told by name only, and a sentence for the system message."""

    specs: tuple[ToolSpec, ...]
    names: tuple[str, ...] = ()
    hint: str = ""

    @property
    def tokens(self) -> int:
        """Our estimate of what all of it costs in one request."""
        return tokens(self.specs) + round(text_weight(self.hint) / QUARTERS)


def tokens(specs: Sequence[ToolSpec]) -> int:
    """Our estimate for definitions on the wire."""
    return round(sum(map(weight, specs)) / QUARTERS)


def present(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    """What a model of this size is shown of `candidates`, which come in their stable order."""
    presentation = replace(presentation, most_tools=min(presentation.most_tools, MOST_DEFINITIONS))
    match presentation.strategy:
        case "top_k":
            return _top_k(candidates, size, presentation)
        case "hybrid":
            return _hybrid(candidates, size, presentation)
        case "reorder":
            kept = _kept(candidates, size, presentation)
            shown = _by_relevance(each for each in candidates if each.card.name in kept)
            specs = tuple(each.card.spec(size) for each in shown)
            return Shown(specs, hint=_categories(candidates, DISCOVERY in kept))
        case "full":
            kept = _kept(candidates, size, presentation)
            return Shown(tuple(each.card.spec(size) for each in candidates if each.card.name in kept))


def _kept(candidates: Sequence[Candidate], size: Size, limits: Presentation) -> set[str]:
    """Names of the selected ones that are shown: first discovery and what is there for every message, in at most half
    of the limits, then the others by relevance."""
    ranked = _by_relevance([each for each in candidates if each.selected or each.card.name == DISCOVERY])
    always = _discovery_first([each for each in ranked if each.base or each.card.name == DISCOVERY])
    half = replace(limits, most_tools=(limits.most_tools + 1) // 2, most_tokens=limits.most_tokens // 2)
    first = {spec.name for spec in _fitting(always, size, half)}
    found = [each for each in always if each.card.name in first]
    found += [each for each in ranked if each.card.name not in first]
    return {spec.name for spec in _fitting(found, size, limits)}


def _top_k(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    ranked = _by_relevance(candidates)
    specs = _fitting(ranked, size, presentation, _names((), 0, size))
    if len(specs) < len(ranked):
        ranked = _discovery_first(ranked)
        beside = _names([each.card.name for each in ranked], 0, size, found=ranked[0].card.name == DISCOVERY)
        specs = _fitting(ranked, size, presentation, beside)
    shown = {spec.name for spec in specs}
    names = [each.card.name for each in ranked if each.card.name not in shown]
    stable = dict(zip([each.card.name for each in candidates], count()))
    room = presentation.most_tokens - tokens(specs)
    line = _names(names, room, size, stable.__getitem__, found=DISCOVERY in shown)
    return Shown(tuple(sorted(specs, key=lambda spec: spec.name == DISCOVERY)), tuple(names), line)


def _hybrid(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    ranked = _by_relevance(candidates)
    if len(ranked) > MOST_DEFINITIONS:
        ranked = _discovery_first(ranked)
    detailed = _fitting(ranked, size, presentation)
    shown = {spec.name for spec in detailed}
    stubs = (ToolSpec(each.card.name, "", STUB) for each in ranked if each.card.name not in shown)
    return Shown((*detailed, *islice(stubs, MOST_DEFINITIONS - len(detailed))))


def _by_relevance(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Selected ones first, each part by relevance, equals by priority, then in stable order."""
    ranked = sorted(candidates, key=attrgetter("card.priority"), reverse=True)
    ranked.sort(key=attrgetter("relevance"), reverse=True)  # one after the other: keys of three parts take longer
    ranked.sort(key=attrgetter("selected"), reverse=True)
    return ranked


def _discovery_first(ranked: list[Candidate]) -> list[Candidate]:
    """The way to what is not shown comes first."""
    at = next((at for at, each in enumerate(ranked) if each.card.name == DISCOVERY), 0)
    return [*ranked[at : at + 1], *ranked[:at], *ranked[at + 1 :]]


def _fitting(ranked: Sequence[Candidate], size: Size, limits: Presentation, beside: str = "") -> tuple[ToolSpec, ...]:
    """As many from the front as the limits allow with the line `beside` them; one that is too long leaves its place to
    the next."""
    specs: list[ToolSpec] = []
    room = QUARTERS * limits.most_tokens - (text_weight(beside) + QUARTERS if beside else 0)
    for each in islice(ranked, TRIED * limits.most_tools):
        if each.card.weights[size] <= room and len(specs) < limits.most_tools:
            specs.append(each.card.spec(size))
            room -= each.card.weights[size]
    return tuple(specs)


def _names(
    names: Sequence[str], room: int, size: Size, order: Callable[[str], int] | None = None, found: bool = False
) -> str:
    """One line, of the first ones that there is room for: the same for the same ones, whatever their relevance, where
    an `order` is given. They are `found` with discovery, or called by these names."""
    plain = f" {ASK_FOR_CALLS}" if size == "S" else ""
    if not names:
        return plain.strip()
    line = f"More tools, to be found with {DISCOVERY}: " if found else "More tools, to be called by name: "
    most = QUARTERS * room - len(line) - len(plain) - len(", … and 9999 more.")
    told: list[str] = []
    for name in names:
        most -= text_weight(name) + 2
        if most < 0:
            break
        told.append(name)
    more = f"{', …' if told else ''} and {len(names) - len(told)} more" if len(told) < len(names) else ""
    told.sort(key=order)
    return f"{line}{', '.join(told)}{more}.{plain}"


def _categories(candidates: Sequence[Candidate], found: bool) -> str:
    """Which kinds of tools there are, shown or not: the same for every message, for the providers' prompt caches."""
    kinds = list(dict.fromkeys(each.card.category for each in candidates if each.card.category))
    search = f" {DISCOVERY} finds those that you do not see." if found else ""
    return f"Kinds of tools here: {', '.join(kinds)}.{search}" if kinds else ""
