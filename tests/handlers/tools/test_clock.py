"""The time anywhere, from one clock."""

from __future__ import annotations

import pytest

from handlers.tools.clock import ClockTools
from routing.errors import ToolFailed
from routing.types.decisions import TierDecision
from routing.types.people import Person
from routing.types.tools import ToolScope

NOVEMBER = 1_795_269_845.9  # 2026-11-21 14:04:05 UTC
JULY = 1_783_080_000.0  # 2026-07-03 12:00:00 UTC


async def datetime_text(zone: str = "", at: float = NOVEMBER, own: str = "Europe/Berlin") -> str:
    scope = ToolScope(Person(7, "user", "Ada"), 1, TierDecision("balanced", "default", ""), own)
    return ClockTools(lambda: at).get_datetime(scope, zone)


async def test_the_persons_time_zone() -> None:
    assert await datetime_text() == (
        "Saturday, 2026-11-21 15:04:05 CET (UTC+01:00, Europe/Berlin, week 47, day 325); in UTC 2026-11-21T14:04:05Z"
    )


async def test_summer_time() -> None:
    assert (await datetime_text(at=JULY)).startswith(
        "Friday, 2026-07-03 14:00:00 CEST (UTC+02:00, Europe/Berlin, week 27, "
    )


async def test_week_numbers_at_the_turn_of_the_year() -> None:
    assert "week 53, day 1)" in await datetime_text("UTC", at=1_798_761_600.0 + 43_200)  # Friday, 2027-01-01


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Asia/Tokyo", "23:04:05 JST (UTC+09:00, Asia/Tokyo,"),
        ("asia/TOKYO", "23:04:05 JST (UTC+09:00, Asia/Tokyo,"),
        ("Tokyo", "23:04:05 JST (UTC+09:00, Asia/Tokyo,"),
        ("new york", "09:04:05 EST (UTC-05:00, America/New_York,"),
        (" America/New York ", "09:04:05 EST (UTC-05:00, America/New_York,"),
        ("Buenos Aires", "11:04:05 (UTC-03:00, America/Buenos_Aires,"),
        ("kathmandu", "19:49:05 (UTC+05:45, Asia/Kathmandu,"),
        ("St Johns", "10:34:05 NST (UTC-03:30, America/St_Johns,"),
        ("utc", "14:04:05 UTC (UTC+00:00, UTC,"),
        ("UTC+2", "16:04:05 (UTC+02:00,"),
        ("GMT-3", "11:04:05 (UTC-03:00,"),
        ("+05:30", "19:34:05 (UTC+05:30,"),
        ("Etc/GMT+2", "12:04:05 (UTC-02:00, Etc/GMT+2,"),
    ],
)
async def test_informal_zone_names(zone: str, said: str) -> None:
    assert f" {said} " in await datetime_text(zone)


async def test_another_date_elsewhere() -> None:
    assert (await datetime_text("Kiritimati")).startswith(
        "Sunday, 2026-11-22 04:04:05 (UTC+14:00, Pacific/Kiritimati, "
    )


@pytest.mark.parametrize(
    ("zone", "near"),
    [("Berln", "Europe/Berlin"), ("Europe/Pariss", "Europe/Paris"), ("new yorck", "America/New_York")],
)
async def test_an_unknown_zone_gets_a_suggestion(zone: str, near: str) -> None:
    with pytest.raises(ToolFailed, match=r"is not a time zone.*The nearest names: ") as caught:
        await datetime_text(zone)
    assert near in str(caught.value)


@pytest.mark.parametrize("zone", ["x" * 5000, "../../etc/passwd", "/etc/localtime", "\0", "東京", "UTC+15", "UTC+2:99"])
async def test_without_a_zone(zone: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        await datetime_text(zone)
    assert len(str(caught.value)) < 300


async def test_an_ambiguous_zone_is_asked_back() -> None:
    with pytest.raises(
        ToolFailed, match=r"'west' can mean several time zones: use one of Australia/West, Brazil/West\."
    ):
        await datetime_text("west")


async def test_aliases_of_a_zone_are_one() -> None:
    assert "UTC-06:00, Canada/Central," in await datetime_text("central")


async def test_a_stored_zone_that_no_longer_exists() -> None:
    with pytest.raises(ToolFailed, match="'Mars/Olympus' is not a time zone"):
        await datetime_text(own="Mars/Olympus")
