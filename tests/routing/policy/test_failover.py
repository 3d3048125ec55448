"""The table of failures, row by row."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing import errors
from routing.errors import ModelError
from routing.policy.failover import MIN_SECONDS, PAUSE_SECONDS, Situation, Step, after

Failure = ModelError | Literal["length"]
PLENTY: dict[str, Any] = {"attempts": 3, "seconds_left": 60.0}


def failed(name: str, wait: float | None = None) -> Failure:
    return "length" if name == "length" else getattr(errors, name)("a/1", "x", wait)


def at(candidates: int = 3, asked: int = 1, tries: int = 1, **more: Any) -> Situation:
    return Situation(candidates, asked, tries, **{**PLENTY, **more})


FIRST, LAST, ONLY = at(), at(asked=3), at(candidates=1)
NEXT, NONE_LEFT = Step("next", "other model"), Step("stop", "no model left")
SIBLING = Step("next", "same provider")


@pytest.mark.parametrize(
    ("name", "wait", "situation", "step"),
    [
        ("KeyRejected", None, FIRST, NEXT),
        ("KeyRejected", None, LAST, NONE_LEFT),
        ("KeyRejected", None, ONLY, NONE_LEFT),
        ("ModelUnknown", None, FIRST, NEXT),
        ("ModelUnknown", None, ONLY, NONE_LEFT),
        ("RateLimited", 30.0, FIRST, NEXT),
        ("RateLimited", 1.0, FIRST, NEXT),
        ("RateLimited", None, FIRST, NEXT),
        ("OutOfCredit", None, FIRST, NEXT),
        ("OutOfCredit", None, ONLY, NONE_LEFT),
        ("OutOfCredit", None, at(candidates=1, siblings=2), NONE_LEFT),
        ("KeyRejected", None, at(candidates=1, siblings=2), NONE_LEFT),
        ("ModelUnknown", None, at(candidates=1, siblings=2), SIBLING),
        ("ModelUnknown", None, at(candidates=1, asked=3, tries=2, siblings=2), NONE_LEFT),
        ("RateLimited", 31.0, at(candidates=1, siblings=1), SIBLING),
        ("RateLimited", 20.0, at(candidates=1, siblings=1), Step("again", "asked to wait", 20.0)),
        ("RateLimited", 20.0, at(candidates=1, siblings=1, seconds_left=15.0), SIBLING),
        ("Unreachable", None, at(candidates=1, repeats=1, tries=2, siblings=1), NONE_LEFT),
        ("RateLimited", 30.1, LAST, NONE_LEFT),
        ("RateLimited", 30.0, LAST, Step("again", "asked to wait", 30.0)),
        ("RateLimited", 3.0, LAST, Step("again", "asked to wait", 3.0)),
        ("RateLimited", 0.0, ONLY, Step("again", "asked to wait", 0.0)),
        ("RateLimited", None, ONLY, NONE_LEFT),
        ("Unreachable", None, FIRST, NEXT),
        ("Unreachable", None, LAST, NONE_LEFT),
        ("Unreachable", None, ONLY, Step("again", "passing", 0.75)),
        ("Unreachable", 2.0, ONLY, Step("again", "passing", 2.0)),
        ("Unreachable", 31.0, ONLY, NONE_LEFT),
        ("Unreachable", None, at(candidates=1, repeats=1, tries=2), NONE_LEFT),
        ("ContextOverflow", None, FIRST, Step("again", "shorten")),
        ("ContextOverflow", None, ONLY, Step("again", "shorten")),
        ("ContextOverflow", None, at(shortened=1, larger=True), Step("next", "larger window")),
        ("ContextOverflow", None, at(shortened=1), Step("again", "shorten")),
        ("ContextOverflow", None, at(shortened=3), NONE_LEFT),
        ("PolicyRefused", None, FIRST, Step("stop", "policy")),
        ("PolicyRefused", None, at(tries=3), Step("stop", "policy")),
        ("BadModelRequest", None, FIRST, NEXT),
        ("BadModelRequest", None, LAST, NONE_LEFT),
        ("EmptyAnswer", None, FIRST, Step("again", "empty")),
        ("EmptyAnswer", None, at(repeats=1, tries=2), NEXT),
        ("EmptyAnswer", None, at(candidates=1, repeats=1, tries=2), NONE_LEFT),
        ("length", None, FIRST, Step("again", "allowance")),
        ("length", None, at(repeats=1, tries=2), NEXT),
        ("length", None, at(candidates=1, repeats=1, tries=2), NONE_LEFT),
        ("Unreachable", None, at(tries=3), Step("stop", "attempts")),
        ("EmptyAnswer", None, at(tries=3), Step("stop", "attempts")),
        ("ContextOverflow", None, at(tries=3), Step("stop", "attempts")),
        ("Unreachable", None, at(seconds_left=1.9), Step("stop", "deadline")),
        ("Unreachable", None, at(seconds_left=2.0), NEXT),
        ("RateLimited", 3.0, at(asked=3, seconds_left=4.9), Step("stop", "deadline")),
        ("RateLimited", 3.0, at(asked=3, seconds_left=5.0), Step("again", "asked to wait", 3.0)),
    ],
)
def test_the_next_step_after_each_failure(name: str, wait: float | None, situation: Situation, step: Step) -> None:
    assert after(failed(name, wait), situation) == step


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, PAUSE_SECONDS[0]), (1.0, PAUSE_SECONDS[1])])
def test_the_pause_before_retrying_a_single_model(chance: float, seconds: float) -> None:
    assert after(failed("Unreachable"), ONLY, chance).seconds == seconds


KINDS = tuple(name for name, kind in vars(errors).items() if isinstance(kind, type) and kind.__base__ is ModelError)


def test_every_kind_of_failure_has_a_row() -> None:
    story: Any = test_the_next_step_after_each_failure
    rows = {row[0] for mark in story.pytestmark for row in mark.args[1]}
    assert set(KINDS) | {"length"} == rows


@given(
    st.sampled_from((*KINDS, "length")),
    st.none() | st.floats(0, 100),
    st.builds(
        Situation,
        candidates=st.integers(1, 4),
        asked=st.integers(1, 4),
        tries=st.integers(1, 5),
        attempts=st.integers(1, 4),
        seconds_left=st.floats(-5, 100),
        repeats=st.integers(0, 2),
        shortened=st.integers(0, 4),
        larger=st.booleans(),
    ),
)
def test_no_attempt_starts_beyond_the_contract(name: str, wait: float | None, it: Situation) -> None:
    step = after(failed(name, wait), it)
    if step.do != "stop":
        assert it.tries < it.attempts
        assert it.seconds_left - step.seconds >= MIN_SECONDS
        assert name != "PolicyRefused"
        assert 0 <= step.seconds <= 30.0
    if step == NEXT:
        assert it.asked < it.candidates
        assert step.seconds == 0
