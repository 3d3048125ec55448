"""What members of a council think of each other's answers: ballots as models write them, scores, an early end."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations, product
from math import perm, prod

MOST_CHARS = 20_000
"""Of a reply, from its end, where the ballot is asked for; the rest is not read."""

MOST_OUTCOMES = 300
"""Outcomes of a vote that are tried; with more of them all ballots are waited for."""

Ranking = tuple[str, ...]
"""Labels, the best first. An empty one is an abstention."""

# Lists without lists in them, so that hostile nesting costs nothing.
_LIST = re.compile(r"\[[^\[\]]*\]")
_NAMED = re.compile(r'"ranking"\s*:\s*\Z', re.IGNORECASE)
_NAME_REACH = 40
_PREFIX = re.compile(r"\A(?:answer|label)\b")
_DRESS = " \t\r\n*_`'\"()<>#:.-"


@dataclass(frozen=True, slots=True)
class Tally:
    """`scores` are from 0 to 1 and exact; who could be ranked by nobody has none. `places` are the labels by score, the
    best first; labels that share a place are tied."""

    scores: Mapping[str, Fraction] = field(default_factory=dict)
    places: tuple[tuple[str, ...], ...] = ()

    @property
    def leader(self) -> str | None:
        """Who is first alone."""
        return self.places[0][0] if self.places and len(self.places[0]) == 1 else None

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """The places that several share."""
        return tuple(place for place in self.places if len(place) > 1)


def read_ballot(reply: str, voter: str, labels: Collection[str]) -> Ranking:
    """The ranking in a member's reply, whatever is written around it: the last list named "ranking", else the last that
    ranks anybody. Unknown labels, repetitions and the voter's own are dropped, the others move up. A refusal, and what
    is no JSON, abstains."""
    text = reply[-MOST_CHARS:]
    others = {label.lower(): label for label in labels if label != voter}
    plain: Ranking = ()
    for found in reversed(list(_LIST.finditer(text))):
        ranking = _sanitised(_items(found[0]), others)
        if _NAMED.search(text, max(0, found.start() - _NAME_REACH), found.start()):
            return ranking
        plain = plain or ranking
    return plain


def count(labels: Collection[str], votes: Mapping[str, Ranking]) -> Tally:
    """The mean of the normalised Borda points: on each ballot the first has 1, the last 0, the others lie evenly
    between. Whom a ballot leaves out stands last on it. `votes` are sanitised rankings by voter; nobody is ranked by
    themselves, and abstentions count for nothing."""
    cast = {voter: ranking for voter, ranking in votes.items() if ranking}
    scores: dict[str, Fraction] = {}
    for label in sorted(labels):
        points = [_points(ranking, label, labels, voter) for voter, ranking in cast.items() if voter != label]
        if points:
            scores[label] = sum(points, Fraction(0)) / len(points)
    levels = sorted(set(scores.values()), reverse=True)
    return Tally(scores, tuple(tuple(each for each in scores if scores[each] == level) for level in levels))


def unassailable(labels: Collection[str], votes: Mapping[str, Ranking], left: Collection[str]) -> str | None:
    """The label that is first alone whatever the voters `left` still do: rank all, some or nobody. None as long as
    there is no such label, or there are more outcomes than MOST_OUTCOMES. Tries each: 25 for two voters of three."""
    if prod(_ballots(len(labels) - (voter in labels)) for voter in left) > MOST_OUTCOMES:
        return None
    outcomes = product(*(tuple(possible(labels, voter)) for voter in left))
    leaders = {count(labels, {**votes, **dict(zip(left, ballots, strict=True))}).leader for ballots in outcomes}
    return leaders.pop() if len(leaders) == 1 else None


def possible(labels: Collection[str], voter: str) -> Iterator[Ranking]:
    """Every sanitised ballot that this voter can cast, the abstention first."""
    others = sorted(label for label in labels if label != voter)
    for length in range(len(others) + 1):
        yield from permutations(others, length)


def _ballots(others: int) -> int:
    """How many sanitised ballots rank so many labels, or some of them."""
    return sum(perm(others, length) for length in range(others + 1))


def _points(ranking: Ranking, label: str, labels: Collection[str], voter: str) -> Fraction:
    if label not in ranking:
        return Fraction(0)
    last = len([other for other in labels if other != voter]) - 1
    return 1 - Fraction(ranking.index(label), last) if last else Fraction(1)


def _items(text: str) -> Sequence[object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return found if isinstance(found, list) else ()


def _sanitised(items: Sequence[object], others: Mapping[str, str]) -> Ranking:
    """Of the others' labels those that were named, each once; `others` by their lower case."""
    bare = [_bare(item) for item in items if isinstance(item, str)]
    return tuple(dict.fromkeys(others[each] for each in bare if each in others))


def _bare(entry: str) -> str:
    """`**Answer B**` → `b`."""
    return _PREFIX.sub("", entry.strip(_DRESS).lower()).strip(_DRESS)
