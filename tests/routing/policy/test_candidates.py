"""Which models are asked, in which order, and why the others are skipped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.health.breaker import CLOSED, BreakerStatus
from routing.policy.candidates import (
    Candidates,
    Member,
    Needs,
    candidates,
    pool_of,
)
from routing.types.decisions import SkippedModel

NOW = 1_000_000.0
LATER = NOW + 60.0
OPEN = BreakerStatus("open", LATER, "it is down")
PROBING = BreakerStatus("probing", NOW - 1.0, "it is down")
DUE = BreakerStatus("open", NOW, "it is down")
A, B, C = (Member(model, True, True, True, 100_000) for model in ("a/1", "b/2", "c/3"))


def chosen(*members: Member, needs: Needs | None = None) -> Candidates:
    return candidates(members, needs or Needs(), NOW)


def test_a_persons_own_model_comes_first_without_duplicates() -> None:
    assert pool_of(("a/1", "b/2")) == ("a/1", "b/2")
    assert pool_of(("a/1", "b/2"), "c/3") == ("c/3", "a/1", "b/2")
    assert pool_of(("a/1", "b/2"), "b/2") == ("b/2", "a/1")


def test_healthy_models_are_tried_in_pool_order() -> None:
    assert chosen(A, B, C) == Candidates(("a/1", "b/2", "c/3"), ())
    assert chosen() == Candidates((), (), last_resort=True)


@pytest.mark.parametrize(
    ("member", "needs", "skipped"),
    [
        (replace(A, has_key=False), Needs(), SkippedModel("a/1", "key")),
        (replace(A, vision=False), Needs(vision=True), SkippedModel("a/1", "vision")),
        (replace(A, tools=False), Needs(tools=True), SkippedModel("a/1", "tools")),
        (A, Needs(tokens=100_001), SkippedModel("a/1", "window")),
        (replace(A, cooldown=LATER), Needs(), SkippedModel("a/1", "cooldown", LATER)),
        (replace(A, breaker=OPEN), Needs(), SkippedModel("a/1", "breaker", LATER, "it is down")),
        (replace(A, breaker=PROBING), Needs(), SkippedModel("a/1", "breaker", None, "it is down")),
        (replace(A, has_key=False, vision=False, breaker=OPEN), Needs(vision=True), SkippedModel("a/1", "key")),
        (replace(A, vision=False, cooldown=LATER), Needs(vision=True), SkippedModel("a/1", "vision")),
        (replace(A, cooldown=LATER, breaker=OPEN), Needs(), SkippedModel("a/1", "cooldown", LATER)),
    ],
)
def test_unavailable_models_are_skipped_with_a_reason(member: Member, needs: Needs, skipped: SkippedModel) -> None:
    big = replace(B, window=200_000)
    assert chosen(member, big, needs=needs) == Candidates(("b/2",), (skipped,))
    assert chosen(big, member, needs=needs) == Candidates(("b/2",), (skipped,))


@pytest.mark.parametrize(
    ("member", "needs"),
    [
        (replace(A, vision=False, tools=False), Needs()),
        (A, Needs(vision=True, tools=True, tokens=100_000)),
        (replace(A, cooldown=NOW), Needs()),
        (replace(A, breaker=DUE), Needs()),
    ],
)
def test_conditions_that_do_not_skip_a_model(member: Member, needs: Needs) -> None:
    assert chosen(member, B, needs=needs) == Candidates(("a/1", "b/2"), ())


def test_slow_models_come_last_with_a_note() -> None:
    slow = replace(A, slow=LATER)
    assert chosen(slow, B, C) == Candidates(("b/2", "c/3", "a/1"), (SkippedModel("a/1", "slow", LATER),))
    assert chosen(B, slow, C) == Candidates(("b/2", "c/3", "a/1"), (SkippedModel("a/1", "slow", LATER),))
    assert chosen(B, C, slow) == Candidates(("b/2", "c/3", "a/1"), ()), "no model overtook it"
    assert chosen(slow) == Candidates(("a/1",), ())
    both = chosen(replace(B, slow=NOW + 5.0), slow, C)
    assert both.order == ("c/3", "b/2", "a/1")
    assert [each.model for each in both.skipped] == ["b/2", "a/1"]
    assert chosen(slow, replace(B, breaker=OPEN)).order == ("a/1",)
    mixed = chosen(slow, replace(C, has_key=False), B)
    assert [(each.model, each.why) for each in mixed.skipped] == [("a/1", "slow"), ("c/3", "key")]


def test_if_no_model_is_ready_the_first_to_recover_is_tried() -> None:
    found = chosen(replace(A, breaker=OPEN), replace(B, breaker=BreakerStatus("open", NOW + 9.0, "x")), C_WITHOUT_KEY)
    assert (found.order, found.last_resort) == (("b/2", "a/1"), True)
    assert len(found.skipped) == 3


C_WITHOUT_KEY = replace(C, has_key=False)


def test_models_that_meet_the_needs_come_first() -> None:
    blind = replace(A, vision=False)
    pictures = Needs(vision=True)
    assert chosen(blind, replace(B, breaker=OPEN), needs=pictures).order == ("b/2", "a/1")
    assert chosen(replace(blind, breaker=OPEN), replace(C, vision=False), needs=pictures).order == ("c/3", "a/1")
    only = chosen(blind, needs=pictures)
    assert (only.order, only.last_resort, only.skipped) == (("a/1",), True, (SkippedModel("a/1", "vision"),))


@pytest.mark.parametrize(("seconds", "order"), [(30.0, ("a/1",)), (30.1, ())])
def test_a_short_cooldown_is_waited_out(seconds: float, order: tuple[str, ...]) -> None:
    found = chosen(replace(A, cooldown=NOW + seconds), C_WITHOUT_KEY)
    assert (found.order, found.last_resort) == (order, True)
    assert [each.until for each in found.skipped] == [NOW + seconds, None]


def test_without_any_key_no_model_is_tried() -> None:
    assert chosen(C_WITHOUT_KEY) == Candidates((), (SkippedModel("c/3", "key"),), last_resort=True)


MEMBERS = st.lists(
    st.builds(
        Member,
        model=st.sampled_from(("a/1", "b/2", "c/3", "d/4")),
        has_key=st.booleans(),
        vision=st.booleans(),
        tools=st.booleans(),
        window=st.sampled_from((10, 1_000)),
        cooldown=st.none() | st.sampled_from((NOW - 1.0, NOW + 2.0, LATER)),
        breaker=st.sampled_from((CLOSED, OPEN, PROBING, DUE)),
        slow=st.none() | st.just(LATER),
    ),
    max_size=4,
    unique_by=lambda each: each.model,
)


@given(MEMBERS, st.builds(Needs, st.booleans(), st.booleans(), st.sampled_from((0, 100))))
def test_every_member_is_a_candidate_or_skipped_with_a_reason(members: list[Member], needs: Needs) -> None:
    found = candidates(members, needs, NOW)
    named = {each.model for each in found.skipped}
    assert set(found.order) | named == {each.model for each in members}
    assert len(set(found.order)) == len(found.order)
    assert not found.last_resort or named == {each.model for each in members}
    hopeless = {each.model for each in members if not each.has_key or each.cooldown == LATER}
    assert not hopeless & set(found.order)
    assert found.order or hopeless == {each.model for each in members}
    if not found.last_resort:
        assert {each.why for each in found.skipped if each.model in found.order} <= {"slow"}
