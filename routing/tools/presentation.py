"""What a model of each size class sees of the tools: small models choose well among few, large ones among many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import chain, islice, tee
from operator import attrgetter
from typing import NamedTuple

from routing.config.presentation import MAX_DEFINITIONS, Presentation
from routing.types.decisions import Size
from routing.types.llm import ToolSpec
from routing.types.toolkits import QUARTERS, ToolCard, text_weight, weight

DISCOVERY = "discover_tools"
UNLIKELY = -2.5
"""Log-odds up to which a tool is neither found by a search nor shown before base tools."""
TRIED = 4
"""Candidates tried per definition that may be shown."""
TOKENS_PER_NAME = 6
"""Estimate for the line of names: as many tools as may fit are sorted at once."""
SHARE_OF_KINDS = 8
"""The line of kinds gets at most 1 / this of the tokens."""
STUB: Mapping[str, object] = {"type": "object", "properties": {}}
ASK_FOR_CALLS = "When a tool fits, call it at once instead of describing what you would do."
MAX_KINDS = 24
SEARCH = f" {DISCOVERY} finds those that you do not see."
_KINDS = "Kinds of tools here: {}."


class Candidate(NamedTuple):
    """A tool that may be shown. `relevance` is on any scale; base tools are candidates for every message. A tuple,
    because a message can have thousands, and tuples are four times faster."""

    card: ToolCard
    selected: bool
    relevance: float
    base: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Definitions in order, tools shown by name only, and a sentence for the system message."""

    specs: tuple[ToolSpec, ...]
    names: tuple[str, ...] = ()
    hint: str = ""

    @property
    def tokens(self) -> int:
        """Estimated cost in one request."""
        return self.weighed(map(weight, self.specs))

    def weighed(self, weights: Iterable[int]) -> int:
        """The same, with the known weights of the definitions."""
        return -(-(sum(weights) + text_weight(self.hint)) // QUARTERS)


def tokens(specs: Sequence[ToolSpec]) -> int:
    """Estimated cost of definitions in a request."""
    return Shown(tuple(specs)).tokens


def present(candidates: Sequence[Candidate], size: Size, presentation: Presentation) -> Shown:
    """What a model of this size sees of `candidates`, which are in a stable order."""
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
    """The names of the tools that are shown: discovery and base tools within half of the limits, then all selected by
    relevance."""
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
    if any(each.base for each in candidates):
        first = (each for each in first if not _unlikely(each))
    beside = names_line((), len(candidates), plain, found=True)
    specs = _fitting(first, size, limits, beside)
    shown = {spec.name for spec in specs}
    hidden = [name for each in candidates if (name := each.card.name) not in shown]
    likely = (name for each in order if (name := each.card.name) not in shown)
    room = QUARTERS * limits.most_tokens - sum(map(weight, specs))
    fitting = fitting_names(likely, room - text_weight(names_line((), len(hidden), plain, DISCOVERY in shown)))
    names = [name for name in hidden if name in fitting]
    line = names_line(names, len(hidden) - len(names), plain, DISCOVERY in shown)
    rest = (name for name in hidden if name not in fitting)
    return Shown(_discovery_last(specs), (*fitting, *rest), line if text_weight(line) <= room else "")


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
    """As many definitions as the limits allow beside the line `beside`. One that is too long is skipped."""
    specs: list[ToolSpec] = []
    room = QUARTERS * limits.most_tokens - text_weight(beside)
    for each in islice(order, TRIED * limits.most_tools):
        if each.card.weights[size] <= room and len(specs) < limits.most_tools:
            specs.append(each.card.spec(size))
            room -= each.card.weights[size]
    return tuple(specs)


def ranked(candidates: Sequence[Candidate], soon: int) -> Iterator[Candidate]:
    """Selected tools first, then base tools and those that are not unlikely, then the rest, each part by relevance,
    then priority, then in stable order. Sorts `soon` of them first, and all when more are read."""
    first = _front(candidates, soon)
    yield from first
    if len(first) < len(candidates):
        yield from _front(candidates, len(candidates))[len(first) :]


def discovery_first(candidates: Iterable[Candidate], order: Iterable[Candidate]) -> Iterator[Candidate]:
    """Discovery first, if it is a candidate; the others in `order`."""
    found = next((each for each in candidates if each.card.name == DISCOVERY), None)
    if found is not None:
        yield found
    yield from (each for each in order if each.card.name != DISCOVERY)


def likeliest(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """The `most` most relevant, selected or not; ties by priority, then in stable order."""
    found = sorted(_near(candidates, most), key=attrgetter("card.priority"), reverse=True)
    found.sort(key=attrgetter("relevance"), reverse=True)  # faster than one sort with a tuple as key
    return found[:most]


def _front(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    front: list[Candidate] = []
    for group in (_selected, _contending, _unlikely):
        if len(front) < most:
            front += likeliest([each for each in candidates if group(each)], most - len(front))
    return front


def _selected(each: Candidate) -> bool:
    return each.selected


def _contending(each: Candidate) -> bool:
    return not each.selected and (each.base or each.relevance > UNLIKELY)


def _unlikely(each: Candidate) -> bool:
    return not (each.selected or each.base or each.relevance > UNLIKELY)


def _near(candidates: Sequence[Candidate], most: int) -> Sequence[Candidate]:
    """The `most` most relevant and their ties, in stable order."""
    if not 0 < most < len(candidates):
        return candidates
    least = nlargest(most, map(attrgetter("relevance"), candidates))[-1]
    return [each for each in candidates if each.relevance >= least]


def names_line(names: Iterable[str], more: int, plain: str, found: bool) -> str:
    """The names of hidden tools and the number of `more`, then the sentence `plain`. `found`: the model finds them with
    discovery, else calls them by name."""
    head = f"More tools, to be found with {DISCOVERY}" if found else "More tools, to be called by name"
    listed = ", ".join([*names, f"… and {more} more"] if more else names)
    return f"{head}: {listed}. {plain}".strip()


def kinds_line(categories: Iterable[str], most_tokens: int) -> str:
    """The most common categories, in order of first occurrence; empty if not even one fits beside SEARCH. It does not
    depend on the message, for providers' prompt caches."""
    counted = Counter(categories)
    counted.pop("", None)
    likely = (kind for kind, _ in counted.most_common(MAX_KINDS))
    fitting = fitting_names(likely, QUARTERS * most_tokens - text_weight(_KINDS.format("") + SEARCH))
    return _KINDS.format(", ".join(kind for kind in counted if kind in fitting)) if fitting else ""


def fitting_names(names: Iterable[str], room: int) -> Mapping[str, None]:
    """The first names that fit into `room`, in quarters of a token."""
    fitting: dict[str, None] = {}
    for name in names:
        room -= text_weight(f"{name}, ")
        if room < 0:
            break
        fitting[name] = None
    return fitting
