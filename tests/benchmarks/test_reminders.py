"""The benchmark of reminders in a small run, and verdicts that can fail."""

from __future__ import annotations

import json

import pytest

from benchmarks import reminders
from benchmarks.reminders import Run, measure, report


@pytest.mark.parametrize(
    ("late", "twice", "limited", "kept"),
    [
        ([0.1] * 19 + [9.0], 0, True, False),
        ([0.1] * 20 + [9.0], 0, True, True),
        ([9.0], 0, False, None),
        ([0.1], 1, True, False),
        ([0.1], 1, False, False),
    ],
)
def test_verdicts(late: list[float], twice: int, limited: bool, kept: bool | None) -> None:
    measured = Run("all", late, twice, limited)
    assert measured.kept is kept
    section = report([measured], len(late), "")
    assert section.kept is (kept is not False)
    assert json.loads(json.dumps(section.figures))["samples"][0]["late"] == late


def test_each_reminder_reaches_the_server_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reminders, "BEGIN_SECONDS", 1.0)
    measured = measure("all", 20, 0.5, "off")
    assert (len(measured.late), measured.twice) == (20, 0)
    assert min(measured.late) > -0.1, "the clocks of two processes"
