"""Parses the ballots of council members and counts them; detects an early winner."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations, product
from math import perm, prod

MAX_CHARACTERS = 20_000
"""The length of a reply's end that is searched for a ballot."""

MAX_OUTCOMES = 300
"""Maximum number of outcomes to try; above that, all ballots are awaited."""

Ranking = tuple[str, ...]
"""Labels, best first. An empty ranking is an abstention."""

# Only flat lists, so that hostile nesting costs nothing.
_LIST = re.compile(r"\[[^\[\]]*\]")
_NAMED = re.compile(r'"ranking"\s*:\s*\Z', re.IGNORECASE)
_NAME_REACH = 40
_PREFIX = re.compile(r"\A(?:answer|label)\b")
_DECORATION = " \t\r\n*_`'\"()<>#:.-"


@dataclass(frozen=True, slots=True)
class Tally:
    """`scores` are exact, from 0 to 1; a label without votes has none. `places` groups the labels by score, best first;
    labels in one place are tied."""

    scores: Mapping[str, Fraction] = field(default_factory=dict)
    places: tuple[tuple[str, ...], ...] = ()

    @property
    def leader(self) -> str | None:
        """The only label in first place, if any."""
        return self.places[0][0] if self.places and len(self.places[0]) == 1 else None


def read_ballot(reply: str, voter: str, labels: Collection[str]) -> Ranking:
    """Parse the ranking in a reply: the last list named "ranking", else the last list with a known label. Unknown,
    repeated and the voter's own labels are dropped. A refusal or invalid JSON is an abstention."""
    text = reply[-MAX_CHARACTERS:]
    others = {label.lower(): label for label in labels if label != voter}
    plain: Ranking = ()
    for found in reversed(list(_LIST.finditer(text))):
        ranking = _sanitised(_items(found[0]), others)
        if _NAMED.search(text, max(0, found.start() - _NAME_REACH), found.start()):
            return ranking
        plain = plain or ranking
    return plain


def count(labels: Collection[str], votes: Mapping[str, Ranking]) -> Tally:
    """Average the normalised Borda points: on each ballot the first gets 1, the last 0, the others evenly spaced
    values. Labels missing on a ballot count as last. `votes` are clean rankings by voter; self-votes and abstentions
    don't count."""
    cast = {voter: ranking for voter, ranking in votes.items() if ranking}
    scores: dict[str, Fraction] = {}
    for label in sorted(labels):
        points = [_points(ranking, label, labels, voter) for voter, ranking in cast.items() if voter != label]
        if points:
            scores[label] = sum(points, Fraction(0)) / len(points)
    levels = sorted(set(scores.values()), reverse=True)
    return Tally(scores, tuple(tuple(each for each in scores if scores[each] == level) for level in levels))


def certain_winner(labels: Collection[str], votes: Mapping[str, Ranking], left: Collection[str]) -> str | None:
    """The label that stays first alone whatever the voters `left` do. None if there is none yet, or if there are more
    outcomes than MAX_OUTCOMES. Tries each outcome: 25 for two voters of three."""
    if prod(_ballots(len(labels) - (voter in labels)) for voter in left) > MAX_OUTCOMES:
        return None
    outcomes = product(*(tuple(possible(labels, voter)) for voter in left))
    leaders = {count(labels, {**votes, **dict(zip(left, ballots, strict=True))}).leader for ballots in outcomes}
    return leaders.pop() if len(leaders) == 1 else None


def possible(labels: Collection[str], voter: str) -> Iterator[Ranking]:
    """Every valid ballot of this voter, the abstention first."""
    others = sorted(label for label in labels if label != voter)
    for length in range(len(others) + 1):
        yield from permutations(others, length)


def _ballots(others: int) -> int:
    """The number of valid ballots that rank up to `others` labels."""
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
    """The known labels in `items`, each once; `others` is keyed by lower case."""
    bare = [_bare(item) for item in items if isinstance(item, str)]
    return tuple(dict.fromkeys(others[each] for each in bare if each in others))


def _bare(entry: str) -> str:
    """`**Answer B**` → `b`."""
    return _PREFIX.sub("", entry.strip(_DECORATION).lower()).strip(_DECORATION)
