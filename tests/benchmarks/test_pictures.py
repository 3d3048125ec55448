"""The pictures of the README."""

from __future__ import annotations

from datetime import date

from benchmarks.pictures import days


def test_the_chart_has_a_day_for_each_bar() -> None:
    found = days(date(2026, 11, 22), 14)
    assert [found[0].date, found[-1].date, len(found)] == [date(2026, 11, 9), date(2026, 11, 22), 14]
    assert all(len(day.models) == 4 for day in found)
