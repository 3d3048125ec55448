"""The days that a request for weather is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from routing.errors import ToolFailed

FORECAST_DAYS = 16
"""Open-Meteo's forecast reaches this far, today included."""
PAST_DAYS = 90
"""Open-Meteo keeps a little more."""
MAX_CHARACTERS = 60
_ISO = r"(\d{4}-\d{2}-\d{2})(?:T[\d:.+\-Z]{0,32})?"
_RANGE = re.compile(rf"{_ISO}(?: ?(?:to|/|\.\.|–|-) ?{_ISO})?")
_SATURDAY, _SUNDAY = 5, 6


@dataclass(frozen=True, slots=True)
class Days:
    """The first and the last day, at the place; `today` is its date there."""

    first: date
    last: date
    today: date


def find_days(text: str, days: int, today: date) -> Days:
    """Parses an ISO date or range, a day in natural words of any language, a weekend or a week; empty: today. `days`
    counts from the first one. Days after the end of the forecast are left out. Imports dateparser on first use, so call
    it in a thread. Raises ToolFailed."""
    words = " ".join(text.split())
    first, last = _known(words.casefold(), today) or _iso(words) or _natural(words, today)
    first, last = min(first, last), max(first, last)
    last = max(last, first + timedelta(days=min(max(days, 1), FORECAST_DAYS) - 1))
    end, begin = today + timedelta(days=FORECAST_DAYS - 1), today - timedelta(days=PAST_DAYS)
    if not begin <= first <= end:
        raise ToolFailed(
            f"There is weather from {begin} to {end} only, and today is {today} there: use a day of these."
        )
    return Days(first, min(last, end, first + timedelta(days=FORECAST_DAYS - 1)), today)


def _known(words: str, today: date) -> tuple[date, date] | None:
    ahead = timedelta(days=(_SATURDAY - today.weekday()) % 7)
    monday = today + timedelta(days=7 - today.weekday())
    match words.removeprefix("this ").removeprefix("the "):
        case "" | "today" | "now" | "tonight":
            return today, today
        case "weekend" if today.weekday() == _SUNDAY:
            return today, today
        case "weekend":
            return today + ahead, today + ahead + timedelta(days=1)
        case "week" | "next days" | "next 7 days" | "next few days":
            return today, today + timedelta(days=6)
        case "next week":
            return monday, monday + timedelta(days=6)
    return None


def _iso(words: str) -> tuple[date, date] | None:
    found = _RANGE.fullmatch(words)
    if not found:
        return None
    try:
        first = date.fromisoformat(found[1])
        return first, date.fromisoformat(found[2]) if found[2] else first
    except ValueError:
        raise _unknown(words) from None


def _natural(words: str, today: date) -> tuple[date, date]:
    if len(words) > MAX_CHARACTERS:
        raise _unknown(words)
    import dateparser

    base = datetime.combine(today, time(12))
    found = dateparser.parse(words, settings={"PREFER_DATES_FROM": "future", "RELATIVE_BASE": base})
    if found is None:
        raise _unknown(words)
    return found.date(), found.date()


def _unknown(words: str) -> ToolFailed:
    examples = "today, tomorrow, Friday, weekend, week, 2026-11-24, or 2026-11-24 to 2026-11-28"
    return ToolFailed(f"{words[:MAX_CHARACTERS]!r} is not a day: use words such as {examples}.")
