"""The verdicts on Discord beside Telegram can fail. test_smoke runs the benchmark itself."""

from __future__ import annotations

import json

import pytest

from benchmarks.platforms import ALONE, BOTH, ROWS, Rounds, report


def _rounds(**both: float) -> Rounds:
    """Three rounds in which Discord costs only what is given, with an outlier that must not count."""
    figures = {row.figure: 1.0 for row in ROWS}
    alone = {figure: value for figure, value in figures.items() if "READY" not in figure or "RSS" in figure}
    return {ALONE: [alone] * 3, BOTH: [{**figures, **both}, {**figures, **both}, dict.fromkeys(figures, 50.0)]}


def test_there_is_a_row_for_each_start_and_for_memory() -> None:
    section = report(_rounds(), "")
    assert section.kept
    assert section.text().count("✓") == len(ROWS) == 5
    assert [line[1] == "" for line in section.lines[1:]] == [False, True, False, True, False]
    assert json.loads(json.dumps(section.figures)) == {"rounds": _rounds()}


@pytest.mark.parametrize(
    ("figure", "most"),
    [
        ("very first start to first poll, s", 1.5),
        ("very first start to Discord's READY, s", 1.5),
        ("start to first poll, s", 1.5),
        ("start to Discord's READY, s", 1.5),
        ("RSS when ready, MB", 1.2),
    ],
)
def test_each_limit_is_checked_against_the_median(figure: str, most: float) -> None:
    assert report(_rounds(**{figure: most}), "").kept
    section = report(_rounds(**{figure: most + 0.01}), "")
    assert not section.kept
    assert section.text().count("✗") == 1
