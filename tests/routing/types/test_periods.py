"""Days and months of a time zone, across clock changes."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.types.budgets import PeriodKind, current, days

ZONES = (
    "UTC", "Europe/Berlin", "America/Havana", "America/Sao_Paulo", "Asia/Beirut", "Asia/Kathmandu", "Africa/Cairo",
    "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns",
)  # fmt: skip
TIMES = st.floats(0, 2_500_000_000) | st.integers(0, 2_500_000_000).map(float)


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@given(TIMES, st.sampled_from(ZONES), st.sampled_from(["day", "month"]))
def test_days_contain_now_and_are_adjacent(now: float, name: str, period: PeriodKind) -> None:
    zone = ZoneInfo(name)
    found = current(period, now, zone)
    assert found.start <= now < found.end
    assert current(period, found.start, zone) == found
    assert current(period, found.end, zone).start == found.end


@pytest.mark.parametrize(
    ("now", "period", "zone", "start", "hours"),
    [
        ("2026-11-22T04:00", "day", "UTC", "2026-11-22T00:00", 24),
        ("2026-11-22T23:30", "day", "Asia/Tokyo", "2026-11-22T15:00", 24),
        ("2026-03-29T12:00", "day", "Europe/Berlin", "2026-03-28T23:00", 23),
        ("2026-10-25T12:00", "day", "Europe/Berlin", "2026-10-24T22:00", 25),
        ("2026-02-28T23:59", "month", "UTC", "2026-02-01T00:00", 24 * 28),
        ("2025-12-31T12:00", "month", "UTC", "2025-12-01T00:00", 24 * 31),
        ("2025-11-02T05:30", "day", "America/Havana", "2025-11-02T04:00", 25),  # midnight comes twice in that night
    ],
)
def test_days_have_their_local_length(now: str, period: PeriodKind, zone: str, start: str, hours: int) -> None:
    found = current(period, at(now), ZoneInfo(zone))
    assert (found.start, (found.end - found.start) / 3600) == (at(start), hours)


def test_the_last_days_end_with_today() -> None:
    found = days(at("2026-03-30T12:00"), 3, ZoneInfo("Europe/Berlin"))
    assert [str(each.date) for each in found] == ["2026-03-28", "2026-03-29", "2026-03-30"]
    assert [(each.end - each.start) / 3600 for each in found] == [24, 23, 24]
    assert all(one.end == two.start for one, two in pairwise(found))
