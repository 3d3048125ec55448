"""The arithmetic of the failover benchmark: overhead, outcomes, and verdicts that can fail."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain

import pytest

from benchmarks.failover import concurrency, healthy
from benchmarks.failover.concurrency import LATE_SECONDS, Ended, LoadResult, what
from benchmarks.failover.faults import FAULTS, SHARE, draw_plan, number_of, text_of
from benchmarks.failover.healthy import LIMIT_MS, Pair, Samples, added
from benchmarks.failover.turns import CHOICES, TIER, decision_for, models
from routing.errors import ModelError, Unreachable
from routing.health.health import ModelHealth
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import Completion, Finish
from routing.types.turns import Outcome, PromptFit

WELL = Ended("answer", "stop", 1.0, 9.0, 1)
RESULT = LoadResult("a run", (WELL, WELL), 3, 4.0, 12.0, 0, 0, 5, 1, 24)


def test_overhead_is_a_difference_of_medians_with_an_interval() -> None:
    bare = [1.0, 1.1, 1.2, 50.0, 1.3]
    found = added(bare, [each + 0.5 for each in bare])
    assert found.value == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5)
    assert found.high == pytest.approx(0.5)
    wide = added([1.0, 2.0, 3.0] * 5, [3.0, 2.0, 1.5] * 5)
    assert wide.low < wide.value < wide.high


@pytest.mark.parametrize(("more", "kept"), [(LIMIT_MS - 0.01, True), (LIMIT_MS + 0.01, False)])
def test_the_overhead_limit_is_one_millisecond_of_cpu(more: float, kept: bool) -> None:
    bare, turn = Samples([1.0] * 9, [1.0] * 9), Samples([1.0 + more] * 9, [5.0] * 9)
    section = healthy.report({"a model": Pair(bare, turn, 1)}, "")
    assert section.kept is kept
    assert section.text().count("✗") == (0 if kept else 1)


def test_faults_are_drawn_evenly_and_reproducibly() -> None:
    plan = draw_plan(5_000)
    assert plan == draw_plan(5_000) != draw_plan(5_000, seed=8)
    first = sum(bool(faults) for faults in plan.values())
    second = sum(len(faults) > 1 for faults in plan.values())
    assert first / 5_000 == pytest.approx(SHARE, abs=0.02)
    assert second / first == pytest.approx(SHARE, abs=0.03)
    count = Counter(chain.from_iterable(plan.values()))
    assert set(count) == set(FAULTS)
    assert max(count.values()) < 1.4 * min(count.values())


def test_a_request_carries_its_turn_number_and_matches_the_bots_planning() -> None:
    every = models(ModelHealth(lambda: 0.0))
    brief = decision_for(every, text_of(17))
    assert number_of(brief.request) == 17
    assert CHOICES > 1
    assert (brief.choice.model, *brief.choice.fallbacks) == every.config.contracts[TIER].pool


def outcome(text: str = "", finish: Finish = "stop", error: ModelError | None = None) -> Outcome:
    done = None if error else Completion(text, finish, None, 1.0)
    choice = ModelChoice("a/1", None, "configured")
    return Outcome(TierDecision(TIER, "default", ""), choice, PromptFit(1, 2, 0), done, error)


@pytest.mark.parametrize(
    ("one", "end"),
    [
        (outcome("all of it"), "answer"),
        (outcome("half", "cut"), "partial"),
        (outcome("half", "late"), "partial"),
        (outcome("", "late"), "failure"),
        (outcome(error=Unreachable("a/1", "it is down")), "failure"),
        (outcome(error=Unreachable("a/1", "")), "lost"),
        (replace(outcome("both"), error=Unreachable("a/1", "x")), "lost"),
        (replace(outcome(), completion=None), "lost"),
    ],
)
def test_a_turn_ends_in_exactly_one_way(one: Outcome, end: str) -> None:
    assert what(one)[0] == end


@pytest.mark.parametrize(
    "broken",
    [
        replace(RESULT, turns=(WELL, replace(WELL, end="lost"))),
        replace(RESULT, turns=(WELL, replace(WELL, seconds=4.0 + LATE_SECONDS + 0.01))),
        replace(RESULT, turns=(WELL, replace(WELL, tries=4))),
        replace(RESULT, most_probes=2),
    ],
    ids=["lost", "late", "tries", "probes"],
)
def test_each_guarantee_can_fail(broken: LoadResult) -> None:
    assert concurrency.report([RESULT], "").kept
    assert "✗" not in concurrency.report([RESULT], "").text()
    section = concurrency.report([RESULT, broken], "")
    assert not section.kept
    assert section.text().count("✗") == 1
