"""Tools that may be shown, the likeliest first: of thousands only so many are put in order as are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from operator import attrgetter
from typing import NamedTuple

from routing.types.toolkits import ToolCard

DISCOVERY = "discover_tools"


class Candidate(NamedTuple):
    """A tool that may be shown: whether it was selected for this message, how relevant it is (any scale), whether it
    is there for every message. A tuple: thousands are made for a message, in a quarter of the time."""

    card: ToolCard
    selected: bool
    relevance: float
    base: bool = False


def ranked(candidates: Sequence[Candidate], soon: int) -> Iterator[Candidate]:
    """Selected ones first, each part by relevance, equals by priority, then in stable order. About so many will be
    looked at `soon`; whoever looks at more waits once for the order of all."""
    first = _front(candidates, soon)
    yield from first
    if len(first) < len(candidates):
        yield from _front(candidates, len(candidates))[len(first) :]


def discovery_first(candidates: Iterable[Candidate], order: Iterable[Candidate]) -> Iterator[Candidate]:
    """The way to what is not shown comes first, if it is among the candidates; the others in their order."""
    found = next((each for each in candidates if each.card.name == DISCOVERY), None)
    if found is not None:
        yield found
    yield from (each for each in order if each.card.name != DISCOVERY)


def likeliest(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """So many, by relevance, selected or not; equals by priority, then in stable order."""
    found = sorted(_near(candidates, most), key=attrgetter("card.priority"), reverse=True)
    found.sort(key=attrgetter("relevance"), reverse=True)  # one after the other: keys of two parts take longer
    return found[:most]


def _front(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    selected = [each for each in candidates if each.selected]
    if len(selected) >= most:
        return likeliest(selected, most)
    others = [each for each in _near(candidates, most) if not each.selected]
    return [*likeliest(selected, most), *likeliest(others, most - len(selected))]


def _near(candidates: Sequence[Candidate], most: int) -> Sequence[Candidate]:
    """In stable order, without those that are less relevant than so many others."""
    if not 0 < most < len(candidates):
        return candidates
    least = nlargest(most, map(attrgetter("relevance"), candidates))[-1]
    return [each for each in candidates if each.relevance >= least]
