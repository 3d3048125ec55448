"""Counts for the eighty tools: shown, named, tokens, calls."""

from __future__ import annotations

import pytest

from benchmarks.bench_tools import report
from benchmarks.bench_tools.calls import asked, score
from benchmarks.bench_tools.recall import Row, parts, row, showings
from benchmarks.bench_tools.strategies import default, on_the_wire, our_toolkits
from benchmarks.bench_tools.study import Study
from benchmarks.reporting.intervals import Interval
from routing.tools.presentation import DISCOVERY
from routing.types.decisions import Size
from tests.benchmarks.study import Scripted, ranking

OURS = our_toolkits(frozenset())


def test_the_factors_multiply_to_the_total() -> None:
    found = parts([(True, True)] * 6 + [(True, False)] * 2 + [(False, False)] * 2)
    assert found.tool
    assert found.family
    assert found.within
    assert (found.tool.value, found.family.value, found.within.value) == (0.6, 0.8, 0.75)
    assert found.within.high - found.within.low > found.family.high - found.family.low
    nothing = parts([(False, False)])
    assert nothing.within is None
    assert nothing.family is not None


def test_a_row_counts_tools_shown_named_and_tokens(study: Study) -> None:
    found = [
        ranking(study, "web_3", ["web_3"], ["web"]),
        ranking(study, "clock_4", ["web_1"], ["web"]),
        ranking(study, "files_4", ["web_1"], []),
    ]
    showing = list(showings(study, found, ["8 + stubs"], ["S"], len))
    counted = row(showing, study.families())
    assert counted.tools.value == 20
    assert counted.reachable.value == 1
    assert counted.parts.tool
    assert counted.parts.family
    assert counted.parts.within
    assert [each.shown for each in showing] == [True, False, True]
    assert counted.parts.tool.value == pytest.approx(2 / 3)
    assert counted.parts.family.value == pytest.approx(2 / 3)
    assert counted.parts.within.value == 1
    assert counted.tokens
    assert counted.tokens.value == len(on_the_wire(showing[0].presented.shown))
    assert counted.most_tokens == counted.tokens.value > counted.estimate.value
    assert row(list(showings(study, found, ["8 + stubs"], ["S"], None)), study.families()).tokens is None


def test_wrong_calls_and_missing_calls_are_counted_apart(study: Study) -> None:
    found = list(showings(study, [ranking(study, "web_3", ["web_3"], ["web"])] * 5, ["8 + stubs"], ["S"], None))
    model = Scripted(["web_3", "web_2", None, DISCOVERY, "fly"])
    scored = score(list(asked(model, found)), study.families())
    assert [prompt for prompt, _ in model.asked] == ["do it"] * 5
    assert model.asked[0][1] == found[0].presented.shown
    assert scored.parts.tool
    assert scored.parts.family
    assert scored.parts.within
    assert scored.tokens
    assert (scored.parts.tool.value, scored.parts.family.value, scored.parts.within.value) == (0.2, 0.4, 0.5)
    assert (scored.silent.value, scored.discovering.value, scored.invented.value) == (0.2, 0.2, 0.2)
    assert (scored.tokens.value, scored.seconds.value) == (100, 0.5)


def test_calling_one_of_our_tools_is_wrong_but_not_invented(study: Study) -> None:
    found = ranking(study, "web_3", ["calculate", *(card.name for kit in OURS for card in kit.tools)], ["web"])
    shown = list(showings(study, [], [default("XL")], ["XL"], None, [found] * 2))
    scored = score(list(asked(Scripted(["calculate", "fly"]), shown)), study.families())
    assert scored.parts.tool
    assert (scored.parts.tool.value, scored.invented.value) == (0, 0.5)


@pytest.mark.parametrize(("way", "right"), [("8 + stubs", True), ("top 5 + discovery", False)])
def test_a_call_of_a_tool_only_named_is_right_and_an_unknown_tool_is_invented(
    study: Study, way: str, right: bool
) -> None:
    found = list(showings(study, [ranking(study, "clock_4", ["web_3"], ["web"])], [way], ["S"], None))
    assert [each.right for each in asked(Scripted(["clock_4"]), found)] == [right]


def tokens(way: str, size: Size, most: int) -> Row:
    one = Interval(1.0, 1.0, 1.0)
    return Row(way, size, one, one, one, most, parts([(True, True)]), one)


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([tokens(default("S"), "S", 800), tokens("all in full", "S", 4_000), tokens(default("M"), "M", 2_000)], True),
        ([tokens(default("S"), "S", 801)], False),
    ],
)
def test_the_smallest_class_has_a_limit_of_800_tokens(rows: list[Row], kept: bool) -> None:
    section = report.ways(rows)
    assert section.kept is kept
    assert section.text().count("✓" if kept else "✗") == 1
