"""The members of a council, its chair, and the errors if no council is possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config.contracts import DEFAULT_FALLBACKS
from routing.config.runtime import DEFAULT_SLOTS
from routing.council.seats import Seat, TooFewMembers, members, strongest
from routing.types.tiers import TIERS, Tier

CATALOG = Catalog.load(BUNDLED)
DEFAULTS: dict[Tier, tuple[str, ...]] = {tier: (DEFAULT_SLOTS[tier][0], *DEFAULT_FALLBACKS[tier]) for tier in TIERS}


def chosen(pools: Mapping[Tier, Sequence[str]], without: Collection[str] = ()) -> tuple[Seat, ...] | TooFewMembers:
    return members(pools, CATALOG, lambda model: model.partition("/")[0] not in without)


def models(seats: tuple[Seat, ...] | TooFewMembers) -> list[str]:
    assert not isinstance(seats, TooFewMembers)
    return [seat.model for seat in seats]


def test_the_strongest_of_each_vendor_by_default() -> None:
    assert chosen(DEFAULTS) == (
        Seat("openai/gpt-5.2", "openai", "deep"),
        Seat("anthropic/claude-opus-4-5", "anthropic", "deep"),
        Seat("gemini/gemini-2.5-pro", "gemini", "coding"),
    )


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ({"smart": ["a/1", "b/1"]}, ["a/1", "b/1"]),
        ({"smart": ["a/1", "b/1"], "deep": ["b/1"]}, ["b/1", "a/1"]),
        ({"balanced": ["a/1"], "smart": ["b/1"], "coding": ["c/1"], "deep": ["d/1"]}, ["d/1", "c/1", "b/1"]),
        ({"deep": ["a/1", "a/2", "a/3", "b/1"]}, ["a/1", "a/2", "b/1"]),
        ({"deep": ["a/1", "a/2"], "coding": ["b/1"], "balanced": ["c/1"]}, ["a/1", "b/1", "c/1"]),
        ({"deep": ["a/1", "a/2", "b/1", "b/2", "c/1"]}, ["a/1", "b/1", "c/1"]),
        ({"deep": ["a/1", "a/1"], "smart": ["a/1", "b/1"]}, ["a/1", "b/1"]),
    ],
)
def test_as_many_vendors_as_there_are_then_the_strongest(
    pools: Mapping[Tier, Sequence[str]], expected: list[str]
) -> None:
    assert models(chosen(pools)) == expected


def test_a_vendor_without_a_key_leaves_its_seat_to_others() -> None:
    assert models(chosen(DEFAULTS, without=["anthropic"])) == [
        "openai/gpt-5.2",
        "gemini/gemini-2.5-pro",
        "openai/gpt-5.1",
    ]


def test_the_vendor_is_behind_a_gateway() -> None:
    many = chosen({"deep": ["openrouter/openai/gpt-5.2", "openai/gpt-5.1", "openrouter/anthropic/claude-opus-4-5"]})
    assert not isinstance(many, TooFewMembers)
    assert [seat.vendor for seat in many] == ["openai", "openai", "anthropic"]
    google = chosen({"deep": ["openrouter/google/gemini-2.5-pro", "gemini/gemini-2.5-flash"]})
    assert isinstance(google, TooFewMembers)
    assert google.why == "vendors"
    unknown = chosen({"deep": ["openrouter/meadow/one", "openrouter/meadow/two", "openrouter/forest/one"]})
    assert not isinstance(unknown, TooFewMembers)
    assert [seat.vendor for seat in unknown] == ["meadow", "meadow", "forest"]


def test_a_model_that_follows_only_short_instructions_has_no_seat() -> None:
    none = chosen({"deep": ["openai/gpt-5.2", "local/smollm2-135m-instruct"]})
    assert isinstance(none, TooFewMembers)
    assert none.why == "models"
    assert none.skipped == ()


def test_reasons_for_too_few_members() -> None:
    assert chosen({}) == TooFewMembers("models", (), ())
    one = Seat("a/1", "a", "deep")
    assert chosen({"deep": ["a/1", "b/1"]}, without=["b"]) == TooFewMembers("models", (one,), ("b/1",))
    same = (one, Seat("a/2", "a", "deep"))
    assert chosen({"deep": ["a/1", "a/2"], "smart": ["c/1"]}, without=["c"]) == TooFewMembers("vendors", same, ("c/1",))


def test_the_chair_is_the_strongest_and_of_equals_the_first() -> None:
    weak, first, second = Seat("a/1", "a", "balanced"), Seat("b/1", "b", "coding"), Seat("c/1", "c", "coding")
    assert strongest([weak, first, second]) == first
    assert strongest([Seat("d/1", "d", "smart"), weak]).model == "d/1"
    assert strongest([second, Seat("e/1", "e", "deep")]).model == "e/1"


@pytest.mark.parametrize(
    ("tier", "most", "expected"),
    [
        ("smart", 3, ["a/1", "b/1", "d/1"]),
        ("smart", 2, ["a/1", "b/1"]),
        ("coding", 2, ["c/1", "d/1"]),
        ("coding", 3, ["c/1", "c/2", "d/1"]),
        (None, 5, ["d/1", "c/1", "c/2", "a/1", "b/1"]),
    ],
)
def test_the_wanted_tiers_models_come_first_from_at_least_two_vendors(
    tier: Tier | None, most: int, expected: list[str]
) -> None:
    pools: dict[Tier, list[str]] = {"smart": ["a/1", "b/1"], "coding": ["c/1", "c/2", "c/3"], "deep": ["d/1"]}
    assert models(members(pools, CATALOG, lambda model: True, tier, most)) == expected
