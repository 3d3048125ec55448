"""The benchmark of the admin page: a verdict that can fail."""

from __future__ import annotations

import json

import pytest

from benchmarks.admin_page import MAX_SECONDS, Timed, full_log, report
from bot.observability.logs import MAX_RECENT, MAX_RECENT_CHARACTERS, recent_lines


@pytest.mark.parametrize(("seconds", "kept"), [([0.01, 0.02], True), ([0.01, MAX_SECONDS + 0.01], False)])
def test_verdicts(seconds: list[float], kept: bool) -> None:
    section = report([Timed("/people", seconds, seconds, 2_000)], "")
    assert section.kept is kept
    assert ("✗" in section.text()) is not kept
    assert json.loads(json.dumps(section.figures))["samples"]["pages"][0]["seconds"] == seconds


def test_the_log_is_full_while_it_is_measured() -> None:
    before = recent_lines()
    with full_log():
        added = recent_lines()[len(before) :]
        assert [len(each.text) for each in added] == [MAX_RECENT_CHARACTERS] * MAX_RECENT
    assert recent_lines() == before
