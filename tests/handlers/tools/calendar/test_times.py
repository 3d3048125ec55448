"""Times that models write, and gaps between events, also when the clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from handlers.tools.calendar.times import free, moment, read_range, read_when, shown
from routing.errors import ToolFailed

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 22, 30, tzinfo=UTC).timestamp()
"""Monday, 23:30 in Berlin."""


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("today", date(2026, 11, 23)),
        ("Tomorrow", date(2026, 11, 24)),
        ("tomorrow 15:00", datetime(2026, 11, 24, 15, tzinfo=BERLIN)),
        ("tomorrow 9:00", datetime(2026, 11, 24, 9, tzinfo=BERLIN)),
        ("tomorrow at 9:00", datetime(2026, 11, 24, 9, tzinfo=BERLIN)),
        ("now", datetime(2026, 11, 23, 23, 30, tzinfo=BERLIN)),
        ("2026-11-24", date(2026, 11, 24)),
        ("2026-11-24T15:00", datetime(2026, 11, 24, 15, tzinfo=BERLIN)),
        ("2026-11-24 15:00", datetime(2026, 11, 24, 15, tzinfo=BERLIN)),
        ("2026-11-24T15:00Z", datetime(2026, 11, 24, 15, tzinfo=UTC)),
        ("2026-11-24T15:00:00+01:00", datetime(2026, 11, 24, 14, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_the_persons_zone(text: str, when: object) -> None:
    assert read_when(text, BERLIN, NOW) == when


@pytest.mark.parametrize(
    "text", ["", "next week", "24.11.2026", "2026-13-01", "1900-01-01", "9" * 5_000, "2026-11-24T"]
)
def test_other_times_are_refused_with_the_form(text: str) -> None:
    with pytest.raises(ToolFailed, match=r"not a time|must be between"):
        read_when(text, BERLIN, NOW)


def test_a_range_includes_its_last_day() -> None:
    first, last = read_range("2026-10-25", "", 1, BERLIN, NOW)
    assert last.timestamp() - first.timestamp() == 25 * 3600, "the clocks go back on that day"
    first, last = read_range("2026-03-29", "2026-03-30", 1, BERLIN, NOW)
    assert last.timestamp() - first.timestamp() == 47 * 3600
    with pytest.raises(ToolFailed, match="after the start"):
        read_range("2026-11-24", "2026-11-23", 1, BERLIN, NOW)


def test_free_time_is_between_events_and_hours() -> None:
    def at(day: int, hour: int, minute: int = 0) -> datetime:
        return datetime(2026, 11, day, hour, minute, tzinfo=BERLIN)

    busy = [(at(24, 10), at(24, 11)), (at(24, 10, 30), at(24, 12)), (at(24, 17, 30), at(24, 20))]
    gaps = free(busy, at(24, 0), at(26, 0), (9, 18), 60)
    assert gaps == [(at(24, 9), at(24, 10)), (at(24, 12), at(24, 17, 30)), (at(25, 9), at(25, 18))]
    assert free(busy, at(24, 9, 30), at(24, 10), (9, 18), 60) == []
    assert free([], at(24, 0), at(25, 0), (0, 24), 60) == [(at(24, 0), at(25, 0))]


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)])
def test_a_free_day_has_its_real_length_when_the_clocks_change(day: date, hours: int) -> None:
    first = moment(day, BERLIN)
    (gap,) = free([], first, moment(date(day.year, day.month, day.day + 1), BERLIN), (0, 24), 60)
    assert gap[1].timestamp() - gap[0].timestamp() == hours * 3600


def test_a_moment_that_has_no_date_in_a_zone_keeps_its_own() -> None:
    latest = datetime(9999, 12, 31, 23, 30, tzinfo=UTC)
    assert moment(latest, BERLIN) == latest.replace(tzinfo=BERLIN)
    assert shown(datetime(1, 1, 1, tzinfo=UTC), ZoneInfo("America/New_York")).endswith("00:00")


def test_times_are_shown_with_their_weekday() -> None:
    assert shown(datetime(2026, 7, 1, 22, tzinfo=UTC), BERLIN) == "Thu 2026-07-02 00:00"
    assert shown(date(2026, 7, 1), BERLIN) == "Wed 2026-07-01"
