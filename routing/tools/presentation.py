"""What a model of each size is told of the tools: small models choose well among few, large ones among many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, tee
from operator import attrgetter

from routing.config.presentation import MAX_DEFINITIONS, Presentation
from routing.tools.candidates import DISCOVERY, Candidate, discovery_first, likeliest, ranked
from routing.tools.hints import SEARCH, kinds_line, names_line, that_fit
from routing.types.llm import ToolSpec
from routing.types.sizes import Size
from routing.types.toolkits import QUARTERS, text_weight, weight

TRIED = 4
"""Tools that are tried for each that may be shown."""
TOKENS_PER_NAME = 6
"""In the line of names, about: as many tools as may have room there are put in order at once."""
SHARE_OF_KINDS = 8
"""The line of kinds takes at most such a part of the tokens."""
STUB: Mapping[str, object] = {"type": "object", "properties": {}}
ASK_FOR_CALLS = "When a tool fits, call it at once instead of describing what you would do."


@dataclass(frozen=True, slots=True)
class Shown:
    """Definitions in order, tools told by name only, and a sentence for the system message."""

    specs: tuple[ToolSpec, ...]
    names: tuple[str, ...] = ()
    hint: str = ""

    @property
    def tokens(self) -> int:
        """Our estimate of what all of it costs in one request."""
        return -(-(sum(map(weight, self.specs)) + text_weight(self.hint)) // QUARTERS)


def tokens(specs: Sequence[ToolSpec]) -> int:
    """Our estimate for definitions on the wire."""
    return Shown(tuple(specs)).tokens


def present(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    """What a model of this size is shown of `candidates`, which come in their stable order."""
    presentation = replace(presentation, most_tools=min(presentation.most_tools, MAX_DEFINITIONS))
    match presentation.strategy:
        case "top_k":
            return _top_k(candidates, size, presentation)
        case "hybrid":
            return _hybrid(candidates, size, presentation)
        case "reorder":
            return _reorder(candidates, size, presentation)
        case "all":
            kept = {each.card.name for each in likeliest(candidates, MAX_DEFINITIONS)}
            return Shown(tuple(each.card.spec(size) for each in candidates if each.card.name in kept))
        case "full":
            kept = _kept(candidates, size, presentation)
            return Shown(tuple(each.card.spec(size) for each in candidates if each.card.name in kept))


def _reorder(candidates: Sequence[Candidate], size: Size, limits: Presentation) -> Shown:
    kinds = kinds_line(map(attrgetter("card.category"), candidates), limits.most_tokens // SHARE_OF_KINDS)
    kept = _kept(candidates, size, limits, kinds and kinds + SEARCH)
    shown = likeliest([each for each in candidates if each.card.name in kept], len(kept))
    hint = kinds + SEARCH if kinds and DISCOVERY in kept else kinds
    return Shown(tuple(each.card.spec(size) for each in shown), (), hint)


def _kept(candidates: Sequence[Candidate], size: Size, limits: Presentation, beside: str = "") -> set[str]:
    """Names of the selected ones that are shown: first discovery and what is there for every message, in at most half
    of the limits, then all by relevance."""
    found = [each for each in candidates if each.selected or each.base or each.card.name == DISCOVERY]
    always = [each for each in found if each.base or each.card.name == DISCOVERY]
    half = replace(limits, most_tools=(limits.most_tools + 1) // 2, most_tokens=limits.most_tokens // 2)
    order = discovery_first(always, likeliest(always, TRIED * half.most_tools))
    first = {spec.name for spec in _fitting(order, size, half)}
    begun = [each for each in always if each.card.name in first]
    rest = (each for each in likeliest(found, TRIED * limits.most_tools) if each.card.name not in first)
    return {spec.name for spec in _fitting(chain(begun, rest), size, limits, beside)}


def _top_k(candidates: Sequence[Candidate], size: Size, limits: Presentation) -> Shown:
    plain = ASK_FOR_CALLS if size == "S" else ""
    soon = max(TRIED * limits.most_tools, limits.most_tokens // TOKENS_PER_NAME)
    if len(candidates) <= limits.most_tools:
        specs = _fitting(ranked(candidates, soon), size, limits, plain)
        if len(specs) == len(candidates):
            fits = text_weight(plain) <= QUARTERS * limits.most_tokens
            return Shown(_discovery_last(specs), (), plain if fits else "")
    first, order = tee(discovery_first(candidates, ranked(candidates, soon)))
    beside = names_line((), len(candidates), plain, found=True)
    specs = _fitting(first, size, limits, beside)
    shown = {spec.name for spec in specs}
    hidden = [name for each in candidates if (name := each.card.name) not in shown]
    likely = (name for each in order if (name := each.card.name) not in shown)
    room = QUARTERS * limits.most_tokens - sum(map(weight, specs))
    told = that_fit(likely, room - text_weight(names_line((), len(hidden), plain, DISCOVERY in shown)))
    names = [name for name in hidden if name in told]
    line = names_line(names, len(hidden) - len(names), plain, DISCOVERY in shown)
    rest = (name for name in hidden if name not in told)
    return Shown(_discovery_last(specs), (*told, *rest), line if text_weight(line) <= room else "")


def _hybrid(candidates: Sequence[Candidate], size: Size, limits: Presentation) -> Shown:
    order: Iterable[Candidate] = ranked(candidates, TRIED * MAX_DEFINITIONS)
    if len(candidates) > MAX_DEFINITIONS:
        order = discovery_first(candidates, order)
    tried = list(islice(order, TRIED * MAX_DEFINITIONS))
    detailed = _fitting(tried, size, limits)
    shown = {spec.name for spec in detailed}
    stubs = (ToolSpec(each.card.name, "", STUB) for each in tried if each.card.name not in shown)
    return Shown((*detailed, *islice(stubs, MAX_DEFINITIONS - len(detailed))))


def _discovery_last(specs: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    return tuple(sorted(specs, key=lambda spec: spec.name == DISCOVERY))


def _fitting(order: Iterable[Candidate], size: Size, limits: Presentation, beside: str = "") -> tuple[ToolSpec, ...]:
    """As many from the front as the limits allow with the line `beside` them; one that is too long leaves its place to
    the next."""
    specs: list[ToolSpec] = []
    room = QUARTERS * limits.most_tokens - text_weight(beside)
    for each in islice(order, TRIED * limits.most_tools):
        if each.card.weights[size] <= room and len(specs) < limits.most_tools:
            specs.append(each.card.spec(size))
            room -= each.card.weights[size]
    return tuple(specs)
