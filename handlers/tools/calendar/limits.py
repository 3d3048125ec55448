"""Limits on the work for entries that other people wrote: nothing ends a thread that lists their repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from math import prod
from typing import TYPE_CHECKING, Any

from icalendar.parser import Contentlines

from handlers.tools.calendar.event_times import end_of, shifted, time_of

if TYPE_CHECKING:
    from icalendar import Calendar, Component

    from handlers.tools.calendar.times import When

BROKEN = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, RecursionError)
"""What the libraries raise for entries that break the rules."""
TOO_OFTEN = ("SECONDLY", "MINUTELY", "HOURLY")
"""Repetitions that no calendar needs, but that would take forever to list."""
MAX_TIMES_A_DAY = 24
MAX_COUNTED = 400_000
"""Repetitions from the start of a series to the time that is asked for; the library counts all of them (about 1 s)."""
MAX_OVERLAPPING = 50
"""Repetitions at the same time: the library copies each."""
MAX_RULES = 1
"""In one entry, which is what the standard asks for. Looking in vain for the next repetition takes about 6 s."""
MAX_LENGTH = timedelta(days=365_000)
"""Longer events end then: the library subtracts the length from a time, and there is no year before 1."""
MAX_LINES = 20_000
"""In one entry, and removed repetitions in it. About 1 s."""
MAX_ADDED = 2_000
"""Repetitions that are listed one by one in an entry."""
_ZONE_RULE = frozenset(("FREQ", "BYMONTH", "BYDAY", "BYMONTHDAY", "UNTIL", "COUNT", "WKST"))
"""What the rule of a time zone's change needs. The library counts all changes from the first one on."""
MAX_ZONE_CHANGES = 400
"""Changes of time zones in one entry, and their rules. About 0.1 s for a rule since the year 1."""


def read_lines(text: str) -> str:
    """The entry with yearly rules in place of those of time zones that would take forever. Raises ValueError if it is
    too large."""
    kept, begun, removed, added, changes = [], "", 0, 0, 0
    lines: Iterable[str] = Contentlines.from_ical(text)  # type: ignore[no-untyped-call] # has no types
    for line in lines:
        upper = line[:40].upper().strip()
        if upper.startswith("BEGIN"):
            begun = line.upper().rpartition(":")[2].strip()  # also behind parameters
        zoned = begun in ("STANDARD", "DAYLIGHT")
        ruled = upper.startswith(("RRULE", "EXRULE"))
        changes += zoned and (ruled or upper.startswith("BEGIN"))
        removed += upper.startswith("EXDATE") and line.count(",")
        added += upper.startswith("RDATE") and line.count(",") + 1
        kept.append("RRULE:FREQ=YEARLY" if zoned and ruled and not _is_zone_rule(line) else line)
    if len(kept) + removed > MAX_LINES or added > MAX_ADDED or changes > MAX_ZONE_CHANGES:
        raise ValueError("too large")
    return "\r\n".join(kept)


def _is_zone_rule(line: str) -> bool:
    name, _, rule = line.upper().strip().partition(":")
    parts = dict(each.partition("=")[::2] for each in rule.split(";"))
    days, months = parts.get("BYMONTHDAY", ""), parts.get("BYMONTH", "")
    often = "," in months + parts.get("BYDAY", "") or (("BYDAY" in parts or days) and not months)
    often = often or ("," in days and "BYDAY" not in parts)
    return name == "RRULE" and parts.get("FREQ") == "YEARLY" and _ZONE_RULE.issuperset(parts) and not often


def bound(calendar: Calendar, last: datetime) -> None:
    """Correct ends that can't be, and remove the rules if listing the repetitions up to `last` would take long."""
    rules, reach = 0, 0
    counts: list[int] = []
    for event in calendar.walk("VEVENT"):
        start = time_of(event, "DTSTART")
        if start is None:
            continue
        _correct_end(event, start)
        if "RECURRENCE-ID" not in event or "RANGE" in event["RECURRENCE-ID"].params:
            reach = max(reach, _reach(event, start))
        for rule in rules_of(event):
            rules += 1
            counts.append(MAX_COUNTED + 1 if too_often(rule) else _a_year(rule) * max(1, last.year + 1 - start.year))
    overlapping = any(_a_year(rule) * reach > MAX_OVERLAPPING * 366 for rule in _all_rules(calendar))
    if rules > MAX_RULES or sum(counts) > MAX_COUNTED or overlapping:
        for event in calendar.walk("VEVENT"):
            event.pop("RRULE", None)


def rules_of(event: Component) -> list[Any]:
    rules = event.get("RRULE")
    return [rule for rule in (rules if isinstance(rules, list) else [rules]) if rule is not None]


def _all_rules(calendar: Calendar) -> Iterator[Any]:
    for event in calendar.walk("VEVENT"):
        yield from rules_of(event)


def too_often(rule: Any) -> bool:
    often = _times_a_day(rule) > MAX_TIMES_A_DAY or any(each in TOO_OFTEN for each in rule.get("FREQ", ()))
    return often or any(each < 1 for each in rule.get("INTERVAL", ()))


def _times_a_day(rule: Any) -> int:
    return prod(len(rule.get(name, ())) or 1 for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))


def _a_year(rule: Any) -> int:
    """How often this is at most in a year."""
    often, months = rule.get("FREQ", ()), len(rule.get("BYMONTH", ()))
    days = 53 * len(rule.get("BYDAY", ())) + (months or 12) * len(rule.get("BYMONTHDAY", ()))
    days += 7 * len(rule.get("BYWEEKNO", ())) + len(rule.get("BYYEARDAY", ()))
    days = days or (53 if "WEEKLY" in often else 12 if "MONTHLY" in often else max(months, 1))
    return int(_times_a_day(rule) * (366 if "DAILY" in often else min(days, 366)))


def _correct_end(event: Component, start: When) -> None:
    end = end_of(event, start)
    last = min(end, shifted(start, MAX_LENGTH))
    whole = "DURATION" in event and "DTEND" not in event and start < end == last
    if not whole and ("DURATION" in event or ("DTEND" in event and time_of(event, "DTEND") != last)):
        for name in ("DTEND", "DURATION"):
            event.pop(name, None)
        event.add("DTEND", last)


def _reach(event: Component, start: When) -> int:
    """The days from the first to the last time of an event; those with a rule in this range are listed together."""
    moved = time_of(event, "RECURRENCE-ID")
    days = [each.toordinal() for each in (start, end_of(event, start), moved) if each is not None]
    return max(days) - min(days) + 1
