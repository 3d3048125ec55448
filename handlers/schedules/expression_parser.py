"""Reads the words of a time expression: once or repeatedly, and when first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from handlers.schedules.rules import DAYS, EVERY, is_cron, local_time, next_time
from handlers.schedules.time_words import PARTS, UNITS, Day, Word
from routing.errors import Refused

DEFAULT_TIME = time(9)
"""The time of a day without one."""
NUMERIC = ("number", "clock", "point", "iso", "dotted", "slashed")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_AFTER_MINUTES = UNITS[UNITS.index("minute") + 1 :]
"""A number before one of these is not that of minutes after an hour."""
_DATE_SIGNS = ("日", "号", "일")
_AFTER_HOUR = ("oclock", "hour", "am", "pm", "part")
_PERIODS = {"daily": "day", "hourly": "hour", "weekly": "week", "monthly": "month", "yearly": "year"}
_REPEATING = ("every", "repeated", "workdays", *_PERIODS)
SMALL_HOURS = 4
"""Before this hour, "tonight" means the next day."""
_LATE_FROM = {"afternoon": 1, "evening": SMALL_HOURS, "night": 6}
"""From this hour on, the part of the day makes it an hour after noon."""
_CALENDAR = ("weekdays", "weekend", "months", "next", "next_week", "to", "at_or_to")
_CLOCK_WORDS = ("at", "before_hour", "past_hour", "part", "am", "pm")
_DAYS_AHEAD = {"today": 0, "tomorrow": 1, "tomorrow_part": 1, "after_tomorrow": 2, "tonight": 0}


@dataclass(frozen=True, slots=True)
class When:
    """The first time, in Unix seconds, and the rule of repetition; empty: once."""

    at: float
    rule: str = ""


class NotATimeError(Exception):
    """These words are not a time expression."""


class ExpressionParser:
    """Reads the words of one expression from left to right. Raises NotATimeError, or Refused if they can mean two
    times."""

    def __init__(self, words: Sequence[Word], now: float, zone: ZoneInfo, whole: bool) -> None:
        """`whole`: nothing else follows, so a lone number after a day is its hour."""
        self._words = [word for word in words if word.kind != "fill"]
        self._behind_fill = {word for before, word in pairwise(words) if before.kind == "fill"}
        self._now, self._zone, self._whole = now, zone, whole
        self._here = datetime.fromtimestamp(now, zone)
        self._every = self._next = self._next_week = False
        self._half = ""
        self._interval: tuple[int, str] | None = None
        self._days: set[int] = set()
        self._clock: time | None = None
        self._part = ""
        self._offset: int | None = None
        self._date: tuple[int | None, int | None, int | None] = (None, None, None)
        self._seconds = self._months = 0
        self._relative_days: int | None = None
        self._days_later = 0
        self._at = 0

    def when(self) -> When:
        while self._at < len(self._words):
            self._take(self._words[self._at])
        if self._every:
            return self._repeated()
        if self._seconds:
            if self._clock or self._days or self._offset is not None or self._part or any(self._date):
                raise NotATimeError
            return When(self._now + self._seconds)
        return When(self._once())

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._words[at].kind if 0 <= at < len(self._words) else ""

    def _take(self, word: Word) -> None:
        self._at += 1
        if word.kind in _REPEATING:
            self._take_repeating(word)
        elif word.kind in _DAYS_AHEAD:
            self._take_day(word.kind)
            self._part = word.value or self._part
        elif word.kind in NUMERIC:
            self._take_figure(word)
        elif word.kind in UNITS and (self._every or self._next):
            self._take_unit(1, word.kind)
        elif word.kind in _CLOCK_WORDS:
            self._take_time(word)
        elif word.kind in _CALENDAR:
            self._take_calendar(word)
        elif word.kind == "span":
            self._take_unit(*word.value)
        elif word.kind not in ("and", "ordinal", "in", "after"):
            raise NotATimeError

    def _take_repeating(self, word: Word) -> None:
        self._every = True
        if word.kind == "every" and self._seconds:  # behind the interval, as in Japanese
            self._interval, self._seconds = (self._seconds, "second"), 0
        elif word.kind == "every" and self._relative_days:
            self._interval, self._relative_days = (self._relative_days, "day"), None
        elif word.kind in _PERIODS:
            self._interval = (1, _PERIODS[word.kind])
        elif word.kind == "repeated":
            self._days.add(word.value)
        elif word.kind == "workdays":
            self._days |= {0, 1, 2, 3, 4}

    def _take_calendar(self, word: Word) -> None:
        if word.kind == "next" or (word.kind == "next_week" and self._kind() in ("month", "year")):
            self._next = True
        elif word.kind == "next_week":
            self._relative_days, self._next_week = 7, True
            self._at += self._kind() == "week"
        elif word.kind == "at_or_to" and self._kind() not in ("weekdays", "repeated"):
            self._take_time(Word("at", None, word.end))
        elif word.kind in ("to", "at_or_to"):
            self._take_range()
        elif word.kind == "months":
            self._date = (self._date[0], word.value, self._date[2])
        else:
            self._days |= {5, 6} if word.kind == "weekend" else {word.value}

    def _take_range(self) -> None:
        """From the weekday before to the one behind: each week."""
        if len(self._days) != 1 or self._kind() not in ("weekdays", "repeated"):
            raise NotATimeError
        first, last = next(iter(self._days)), self._words[self._at].value
        self._at += 1
        self._every = True
        self._days = {(first + ahead) % 7 for ahead in range((last - first) % 7 + 1)}

    def _take_time(self, word: Word) -> None:
        """Words of the time of day."""
        following = self._kind()
        if word.kind == "part":
            if self._kind(-2) == "and" and self._part:  # "at noon and midnight"
                raise NotATimeError
            self._part = word.value
        elif word.kind in ("am", "pm"):
            self._half = word.kind
        elif word.kind in ("before_hour", "past_hour") and following == "number":
            hour = self._words[self._at].value
            self._at += 2 if self._kind(1) == "oclock" else 1
            if not 1 <= hour <= 24:
                raise NotATimeError
            minutes = hour * 60 + (word.value if word.kind == "past_hour" else -word.value)
            self._set_clock(minutes // 60 % 24, minutes % 60)
        elif word.kind == "at" and following == "number":
            self._take_clock()
        elif word.kind != "at" or following not in ("clock", "point", "part", "am", "pm", "before_hour", "past_hour"):
            raise NotATimeError

    def _take_figure(self, word: Word) -> None:
        if word.kind == "number":
            self._at -= 1
            self._take_number(word.value)
        elif word.kind == "iso":
            self._date = (word.value.year, word.value.month, word.value.day)
        elif word.kind in ("dotted", "slashed"):
            self._take_date(word.value)
        else:
            self._set_clock(24 if word.text.startswith("24") else word.value.hour, word.value.minute)
            if self._kind() in ("oclock", "hour"):
                self._at += 1

    def _take_day(self, kind: str) -> None:
        """In some languages the word for tomorrow is also that for morning."""
        if kind == "tomorrow" and (self._every or self._days or self._offset == 0):
            self._part = "morning"
            return
        if self._offset is not None:
            if kind == "tomorrow":
                self._part = "morning"
                return
            raise NotATimeError
        self._offset = _DAYS_AHEAD[kind]
        if kind == "tonight":
            self._part = "evening"

    def _take_date(self, days: tuple[Day, ...]) -> None:
        if len(days) > 1:
            first, second = (f"{self._year(*each)}-{each[1]:02}-{each[2]:02}" for each in days)
            words = "This date can mean {first} or {second}. Write it like {first}."
            raise Refused(words, first=first, second=second)
        self._date = days[0]

    def _year(self, year: int | None, month: int, day: int) -> int:
        """The given year, or that in which the day comes next."""
        today = self._here
        return year or today.year + ((month, day) < (today.month, today.day))

    def _take_unit(self, number: int, unit: str) -> None:
        if self._every and self._interval is None:
            self._interval = (number, unit)
        elif self._every and unit in ("month", "year") and number == 1:
            self._interval = (1, unit)
        elif self._next and unit == "week":
            self._relative_days, self._next_week = 7, True
        elif self._every:
            raise NotATimeError
        elif unit in _SECONDS:
            self._seconds += number * _SECONDS[unit]
        elif unit in ("day", "week"):
            self._relative_days = (self._relative_days or 0) + number * (7 if unit == "week" else 1)
        else:
            self._months += number * (12 if unit == "year" else 1)

    def _take_date_part(self, value: int, following: str) -> bool:
        """Take a number and the word for year, month or day behind it, as in `2026年12月24日`."""
        year, month, day = self._date
        if following == "year" and value >= 1000:
            year = value
        elif following == "month_of":
            month = value
        elif following == "day" and not day and (month or self._interval == (1, "month") or self._is_date_sign()):
            day = value
        else:
            return False
        self._date = year, month, day
        self._at += 2
        return True

    def _is_day_of_month(self, value: int, following: str) -> bool:
        """Whether a number is a day: `3rd`, `24 December`, `every month on the 1`, `el 1 de cada mes`."""
        if following in ("ordinal", "months") or (self._date[1] and not self._date[2] and value <= 31):
            return True
        if not 1 <= value <= 31 or self._date[2]:
            return False
        every_month = following == "monthly" or (following == "every" and self._kind(2) == "month")
        next_month = following == "span" and self._words[self._at + 1].value == (1, "month")
        if every_month or next_month or (self._months and self._whole and not following):
            return True
        return self._interval == (1, "month") and following not in (*UNITS, *_AFTER_HOUR)

    def _is_date_sign(self) -> bool:
        """Whether the word behind the number means the day of the month: `3日`, but not `3日後`."""
        spans = self._every or self._kind(2) in ("after", "every") or self._kind(-1) in ("in", "after")
        return not spans and self._words[self._at + 1].text in _DATE_SIGNS

    def _take_number(self, value: int) -> None:
        following = self._kind(1)
        if self._take_date_part(value, following):
            return
        dated = self._offset is not None or bool(self._days) or any(self._date) or self._relative_days is not None
        if following in UNITS and self._words[self._at + 1] in self._behind_fill:  # "el 3 del mes"
            raise NotATimeError
        if following in UNITS and not (following == "hour" and (dated or (self._every and self._interval))):
            self._at += 2
            self._take_unit(value, following)
        elif self._is_day_of_month(value, following):
            self._at += 1
            if following == "ordinal":
                self._at += 1
            self._date = (self._date[0], self._date[1], value)
        elif value > 31 and self._date[1]:
            self._at += 1
            self._date = (value, *self._date[1:])
        elif following in _AFTER_HOUR:
            self._take_clock()
        else:
            self._take_lone_number(value, following, dated)

    def _take_lone_number(self, value: int, following: str, dated: bool) -> None:
        """A number that only its place explains. `dated`: a day was named before."""
        if following == "weekdays" and self._every and self._interval is None and value > 1:
            self._at += 1
            self._interval = (value, "week")
        elif self._whole and not dated and following == "at" and self._kind(-1) != "in" and 1 <= value <= 31:
            self._at += 1
            self._date = (None, None, value)
        elif self._whole and (dated or self._every) and self._clock is None and self._kind(-1) != "day":
            self._take_clock()
        else:
            raise NotATimeError

    def _take_clock(self) -> None:
        """An hour, the word for the hour, and the minutes: `8`, `8 Uhr 30`, `7 h 30`, `9時30分`, `nueve y media`."""
        hour, minute = self._words[self._at].value, 0
        self._at += 1
        if self._kind() in ("oclock", "hour"):
            self._at += 1
            unit = self._kind(1)
            if self._kind() == "number" and self._words[self._at].value < 60 and unit not in _AFTER_MINUTES:
                minute = self._words[self._at].value
                self._at += 2 if unit == "minute" else 1
        if self._kind() in ("plus", "minus"):
            word = self._words[self._at]
            self._at += 1
            minutes = hour * 60 + (word.value if word.kind == "plus" else -word.value)
            hour, minute = minutes // 60, minutes % 60
        self._set_clock(hour, minute)

    def _set_clock(self, hour: int, minute: int) -> None:
        """24:00 is the end of the day."""
        if self._clock is not None or not 0 <= hour * 60 + minute <= 24 * 60:
            raise NotATimeError
        self._clock = time(hour % 24, minute)
        self._days_later = hour // 24

    def _time(self) -> time:
        """The time of day."""
        if self._clock is None:
            return time(PARTS[self._part]) if self._part else DEFAULT_TIME
        hour = self._clock.hour
        if self._half:
            if hour > 12:
                raise NotATimeError
            hour = hour % 12 + (12 if self._half == "pm" else 0)
        elif _LATE_FROM.get(self._part, 12) <= hour < 12:
            hour += 12
        return self._clock.replace(hour=hour)

    def _once(self) -> float:
        at, today = self._time(), self._here.date()
        if len(self._days) > 1:
            raise Refused("These are several days. Choose one, or write “every” before them.")
        if self._relative_days is not None or self._months:
            return self._later(at, today)
        if any(self._date):
            return self._on_date(at, today)
        if self._offset is not None:
            if not self._whole and self._days:  # "tomorrow" and a text, "Monday's report"
                raise NotATimeError
            self._check_weekday(today + timedelta(days=self._offset))
            found = self._on_day(today + timedelta(days=self._offset), at)
            tonight = self._offset == 0 and self._part in ("evening", "night", "midnight") and at.hour < SMALL_HOURS
            return self._on_day(today + timedelta(days=1), at) if tonight and found <= self._now else found
        if self._days:
            ahead = (next(iter(self._days)) - today.weekday()) % 7
            day = today + timedelta(days=ahead)
            if (self._next and not ahead) or self._on_day(day, at) <= self._now:
                day += timedelta(days=7)
            return self._on_day(day, at)
        if self._clock is None and not self._part:
            raise NotATimeError
        found = local_time(today, at, self._zone)
        return found if found > self._now else local_time(today + timedelta(days=1), at, self._zone)

    def _on_day(self, day: date, at: time) -> float:
        return local_time(day + timedelta(days=self._days_later), at, self._zone)

    def _later(self, at: time, today: date) -> float:
        """In some days or months; at the same time of day, unless there is another."""
        if any(self._date):
            return self._in_month(at, today)
        try:
            day = today + timedelta(days=self._relative_days or 0)
            months = day.month - 1 + self._months
            day = _day(day.year + months // 12, months % 12 + 1, day.day)
        except (ValueError, OverflowError):
            raise NotATimeError from None
        if self._days:
            if not self._next_week or self._relative_days != 7 or self._months:
                raise NotATimeError
            day = day - timedelta(days=day.weekday()) + timedelta(days=next(iter(self._days)))
        timed = self._clock is not None or bool(self._part) or bool(self._days)
        return self._on_day(day, at if timed else self._here.time().replace(tzinfo=None))

    def _in_month(self, at: time, today: date) -> float:
        """A day of a later month or year: `next month on the 3rd`, `next year on May 5`."""
        year, month, day = self._date
        if self._relative_days is not None or year is not None or day is None or (month and self._months % 12):
            raise NotATimeError
        months = today.month - 1 + self._months
        self._date = today.year + months // 12, month or months % 12 + 1, day
        return self._on_date(at, today)

    def _check_weekday(self, day: date) -> None:
        """Raises Refused if the day is not on the weekday that was named."""
        if self._days and day.weekday() not in self._days:
            raise Refused("{date} is not on that day of the week. Check both.", date=day.isoformat())

    def _on_date(self, at: time, today: date) -> float:
        year, month, day = self._date
        if day is None or (month is None and self._clock is None and not self._whole):
            raise NotATimeError
        try:
            if month is None:
                months = [today.month - 1 + ahead for ahead in range(3)]
                days = [(today.year + each // 12, each % 12 + 1) for each in months]
                tried = [date(*each, day) for each in days if day <= _day(*each, 31).day]
            else:
                years = [year] if year is not None else [today.year + ahead for ahead in range(9)]
                tried = [date(each, month, day) for each in years if day <= _day(each, month, 31).day]
        except (ValueError, OverflowError):
            tried = []
        times = [(self._on_day(each, at), each) for each in tried]
        if not times:
            raise Refused("This date does not exist: {date}.", date=_shown(year, month, day))
        found, on = next((each for each in times if each[0] > self._now), times[-1])
        self._check_weekday(on)
        return found

    def _repeated(self) -> When:
        if self._offset is not None or self._seconds or self._months or self._relative_days is not None:
            raise NotATimeError
        number, unit = self._interval or (1, "")
        if number < 1 or (self._days_later and (self._days or number > 1 or any(self._date))):
            raise NotATimeError
        if unit in _SECONDS:
            if self._clock or self._days or self._part or any(self._date):
                raise NotATimeError
            return When(self._now + number * _SECONDS[unit], f"{EVERY}{number * _SECONDS[unit]}")
        at = self._time()
        if self._days and unit in ("", "week", "day") and number > 1:
            if len(self._days) > 1 or unit == "day":
                raise NotATimeError
            return When(self._once(), f"{DAYS}{7 * number} {at:%H:%M}")
        if number > 1:
            if unit not in ("day", "week"):
                raise NotATimeError
            first = local_time(self._here.date(), at, self._zone)
            rule = f"{DAYS}{number * (7 if unit == 'week' else 1)} {at:%H:%M}"
            return When(first if first > self._now else next_time(rule, first, self._now, self._zone) or first, rule)
        return self._by_cron(f"{at.minute} {at.hour} {self._fields(unit)}")

    def _fields(self, unit: str) -> str:
        """Day, month and weekday of the cron expression."""
        year, month, day = self._date
        if year is not None:
            raise NotATimeError
        if month is not None:
            if day is None or self._days:
                raise NotATimeError
            return f"{day} {month} *"
        if day is not None or unit == "month":
            if self._days:
                raise NotATimeError
            return f"{day or self._here.day} * *"
        if unit == "year":
            return f"{self._here.day} {self._here.month} *"
        if self._days:
            return f"* * {_weekdays(self._days)}"
        if unit == "week":
            return f"* * {_weekdays({self._here.weekday()})}"
        if unit == "day" or self._part:
            return "* * *"
        raise NotATimeError

    def _by_cron(self, rule: str) -> When:
        if not is_cron(rule) or (first := next_time(rule, self._now, self._now, self._zone)) is None:
            raise NotATimeError
        return When(first, rule)


def _day(year: int, month: int, day: int) -> date:
    """This day, or the last one of its month."""
    following = date(year + month // 12, month % 12 + 1, 1)
    return min(date(year, month, 1) + timedelta(days=day - 1), following - timedelta(days=1))


def _shown(year: int | None, month: int | None, day: int) -> str:
    return "-".join(f"{each:02}" for each in (year, month, day) if each is not None)


def _weekdays(days: set[int]) -> str:
    """Weekdays as cron writes them: Sunday is 0."""
    return "1-5" if days == {0, 1, 2, 3, 4} else ",".join(str(each) for each in sorted((day + 1) % 7 for day in days))
