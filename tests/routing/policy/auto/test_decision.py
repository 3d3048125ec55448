"""The evidence of a decision, and the tier if the best one is not allowed."""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

import pytest

from routing.policy.auto.decision import EVIDENCE, MAX_SHOWN_SIGNALS, Signal, decide
from routing.types.tiers import TIERS, Tier


def test_every_signal_has_a_text() -> None:
    assert set(EVIDENCE) == set(get_args(Signal))
    assert len(set(EVIDENCE.values())) == len(EVIDENCE)


@pytest.mark.parametrize(
    ("wanted", "allowed", "tier"),
    [
        ("deep", TIERS, "deep"),
        ("deep", ["balanced", "coding", "smart"], "smart"),
        ("coding", ["balanced", "smart", "deep"], "smart"),
        ("coding", ["balanced", "deep"], "balanced"),
        ("smart", ["balanced", "deep"], "balanced"),
        ("smart", ["deep"], "deep"),
        ("balanced", ["deep", "smart"], "smart"),
        ("deep", [], "balanced"),
    ],
)
def test_the_cheaper_of_two_tiers_is_chosen(wanted: Tier, allowed: Collection[Tier], tier: Tier) -> None:
    assert decide(wanted, ("code",), allowed).tier == tier


def test_the_evidence_is_one_short_clause() -> None:
    assert decide("smart", ("comparison", "long"), TIERS).evidence == "a comparison, long"
    assert decide("balanced", (), TIERS).evidence == "nothing special"
    many: tuple[Signal, ...] = ("intent", "comparison", "money", "long")
    assert decide("deep", many, TIERS).signals == many[:MAX_SHOWN_SIGNALS]
