"""Parsing of ballots, their points, and the end of a vote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.council.ballots import MAX_CHARACTERS, Tally, certain_winner, count, possible, read_ballot

ABC = ("A", "B", "C")
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("reply", "ranking"),
    [
        ('{"ranking": ["B", "C"]}', "BC"),
        ('{"ranking":["C","B"]}', "CB"),
        ('["C", "B"]', "CB"),
        ('```json\n{\n  "ranking": [\n    "C",\n    "B"\n  ]\n}\n```', "CB"),
        ('Here is my ranking:\n\n{"ranking": ["B", "C"]}\n\nI hope that helps [1].', "BC"),
        ('<think>["C", "B"] perhaps</think>{"ranking": ["B", "C"]}', "BC"),
        ('{"ranking": ["C", "B"]} On reflection: {"ranking": ["B", "C"]}', "BC"),
        ('{"ranking": ["B", "C"], "notes": ["C"]}', "BC"),
        ('{"Ranking" : ["b", " c "]}', "BC"),
        ('{"ranking": ["Answer B", "**answer C**"]}', "BC"),
        ('{"ranking": ["label B", "C."]}', "BC"),
        ('{"ranking": ["\\u0042", "C"]}', "BC"),
        ('{"ranking": ["X", "C", "B"]}', "CB"),
        ('{"ranking": ["B", "B", "C", "B"]}', "BC"),
        ('{"ranking": ["A", "C", "B"]}', "CB"),
        ('{"ranking": ["A", "a", "Answer A"]}', ""),
        ('{"ranking": ["C"]}', "C"),
        ('{"ranking": [7, null, true, {"label": "B"}, "C"]}', "C"),
        ('{"ranking": []}', ""),
        ('First I thought ["B", "C"], but I can\'t judge this. {"ranking": []}', ""),
        ("I'm sorry, I can't rank answers on this subject.", ""),
        ("B > C", ""),
        ('{"ranking": ["B", "C"', ""),
        ("['B', 'C']", ""),
        ("", ""),
        ("\0\ud800[", ""),
        ('["' + "B" * 50 + '"]', ""),
        ("[" + "9" * 10_000 + ']{"ranking": ["C", "B"]}', "CB"),
        ("[" * 100_000, ""),
        ("[" * 5_000 + '"B"' + "]" * 5_000, "B"),
        ('{"a":' * 100_000, ""),
        ("x" * 1_000_000 + '{"ranking": ["C", "B"]}', "CB"),
        ('{"ranking": ["C", "B"]}' + "x" * MAX_CHARACTERS, ""),
    ],
)
def test_a_ballot_is_found_inside_other_text(reply: str, ranking: str) -> None:
    assert read_ballot(reply, "A", ABC) == tuple(ranking)


@given(
    st.text() | st.lists(st.sampled_from(['"ranking":', "[", "]", "{", "}", '"A"', '"B"', "B", ",", "\\"])).map("".join)
)
def test_any_text_gives_a_valid_ballot(reply: str) -> None:
    assert read_ballot(reply, "A", ABC) in set(possible(ABC, "A"))


@given(st.lists(st.sampled_from(["A", "B", "C", "D", "Z", ""]), max_size=8))
def test_unknown_repeated_and_own_labels_are_dropped_and_the_others_move_up(labels: list[str]) -> None:
    expected = [label for place, label in enumerate(labels) if label in "BC" and label not in labels[:place] and label]
    assert read_ballot(json.dumps({"ranking": labels}), "A", ABC) == tuple(expected)


@pytest.mark.parametrize(
    ("votes", "scores", "places"),
    [
        ({}, {}, ()),
        ({"A": "BC", "B": "CA", "C": "AB"}, {"A": HALF, "B": HALF, "C": HALF}, (("A", "B", "C"),)),
        ({"A": "BC", "B": "AC", "C": "BA"}, {"A": HALF, "B": 1, "C": 0}, (("B",), ("A",), ("C",))),
        ({"A": "CB", "B": "CA", "C": "AB"}, {"A": HALF, "B": 0, "C": 1}, (("C",), ("A",), ("B",))),
        ({"A": "BC", "B": "AC"}, {"A": 1, "B": 1, "C": 0}, (("A", "B"), ("C",))),
        ({"A": "BC", "B": "AC", "C": ""}, {"A": 1, "B": 1, "C": 0}, (("A", "B"), ("C",))),
        ({"A": "C", "B": "CA", "C": ""}, {"A": 0, "B": 0, "C": 1}, (("C",), ("A", "B"))),
        ({"A": "BC"}, {"B": 1, "C": 0}, (("B",), ("C",))),
        ({"A": "", "B": "", "C": ""}, {}, ()),
    ],
)
def test_the_mean_of_the_points(
    votes: Mapping[str, str], scores: Mapping[str, Fraction], places: tuple[tuple[str, ...], ...]
) -> None:
    tally = count(ABC, {voter: tuple(ranking) for voter, ranking in votes.items()})
    assert (dict(tally.scores), tally.places) == (scores, places)


def test_points_lie_evenly_between_first_and_last() -> None:
    assert dict(count("ABCD", {"A": tuple("DBC")}).scores) == {"B": HALF, "C": 0, "D": 1}
    assert dict(count("ABCDE", {"A": tuple("ED")}).scores) == {"B": 0, "C": 0, "D": Fraction(2, 3), "E": 1}
    assert dict(count("AB", {"A": ("B",)}).scores) == {"B": 1}


def test_a_tie_has_no_leader_and_is_shown() -> None:
    tied = count(ABC, {"A": ("B", "C"), "B": ("A", "C")})
    assert (tied.leader, tied.places) == (None, (("A", "B"), ("C",)))
    assert (Tally().leader, Tally().places) == (None, ())
    led = count(ABC, {"A": ("C",), "B": ("C", "A")})
    assert (led.leader, led.places) == ("C", (("C",), ("A", "B")))


@pytest.mark.parametrize(
    ("votes", "left", "leader"),
    [
        ({}, "ABC", None),
        ({"A": "CB"}, "BC", None),
        ({"A": "CB", "B": "CA"}, "C", "C"),
        ({"A": "C", "B": "C"}, "C", "C"),
        ({"A": "BC", "B": "AC"}, "C", None),
        ({"A": "BC", "B": "CA"}, "C", None),
        ({"A": "CB"}, "C", None),
        ({"A": "CB"}, "B", None),
        ({"A": "CB", "B": "CA", "C": "AB"}, "", "C"),
        ({"A": "BC", "B": "CA", "C": "AB"}, "", None),
    ],
)
def test_when_a_leader_is_certain(votes: Mapping[str, str], left: str, leader: str | None) -> None:
    assert certain_winner(ABC, {voter: tuple(ranking) for voter, ranking in votes.items()}, left) == leader


def points(ballots: Sequence[str]) -> dict[str, float]:
    """An independent implementation for three voters; an answer that no one else ranked has no points."""
    found = {}
    for label in ABC:
        others = [ballot for voter, ballot in zip(ABC, ballots, strict=True) if voter != label and ballot]
        if others:
            found[label] = sum(ballot[0] == label for ballot in others) / len(others)
    return found


def winners(ballots: Sequence[str]) -> list[str]:
    given = points(ballots)
    return [label for label in given if given[label] == max(given.values())]


BALLOTS = {
    voter: ["", *rest, "".join(rest), "".join(reversed(rest))]
    for voter, rest in zip(ABC, ("BC", "AC", "AB"), strict=True)
}
ALL_BALLOTS = list(product(*(BALLOTS[voter] for voter in ABC)))


def test_there_are_five_ballots_a_voter() -> None:
    for voter in ABC:
        assert sorted("".join(ballot) for ballot in possible(ABC, voter)) == sorted(BALLOTS[voter])


def test_points_match_a_second_implementation() -> None:
    for ballots in ALL_BALLOTS:
        tally = count(ABC, dict(zip(ABC, map(tuple, ballots), strict=True)))
        assert {label: float(score) for label, score in tally.scores.items()} == points(ballots), ballots
        assert list(tally.places[0] if tally.places else ()) == winners(ballots)


def test_a_lead_is_certain_exactly_if_it_cannot_be_lost() -> None:
    """All states of all 125 votes of three members: who has voted, and how. A tie counts as a loss."""
    whole = [tuple(zip(ABC, ballots, strict=True)) for ballots in ALL_BALLOTS]
    moments = {frozenset(cast) for votes in whole for number in range(4) for cast in combinations(votes, number)}
    assert len(moments) == 1 + 3 * 5 + 3 * 5**2 + 5**3
    declared = 0
    for moment in moments:
        seen = dict(moment)
        left = [voter for voter in ABC if voter not in seen]
        leader = certain_winner(ABC, {voter: tuple(ballot) for voter, ballot in seen.items()}, left)
        ends = [winners(end) for end, votes in zip(ALL_BALLOTS, whole, strict=True) if moment <= set(votes)]
        never_beaten = [label for label in ABC if all(end == [label] for end in ends)]
        assert leader == (never_beaten[0] if never_beaten else None), seen
        declared += leader is not None and bool(left)
    assert declared == 3 * 2 * 2, "two ballots that agree on the third voter, in full or in part, are enough"


def test_with_seven_voters_every_ballot_is_awaited() -> None:
    labels = "ABCDEFG"
    assert certain_winner(labels, {}, labels) is None
    assert certain_winner(labels, {voter: ("A",) for voter in "BCDEF"}, "G") is None
