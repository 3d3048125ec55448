"""Reads the words of a time expression."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from itertools import pairwise
from zoneinfo import ZoneInfo

from handlers.schedules.parsed_expression import SECONDS, NotATimeError, ParsedExpression, When
from handlers.schedules.time_words import TONIGHT, UNITS, Day, Word
from routing.errors import Refused

NUMERIC = ("number", "decimal", "clock", "point", "iso", "dotted", "slashed")
_AFTER_MINUTES = ("oclock", *UNITS[UNITS.index("minute") + 1 :])
"""A number before one of these is not that of minutes after an hour."""
_DATE_SIGNS = ("日", "号", "일")
_AFTER_HOUR = ("oclock", "hour", "am", "pm", "part")
_PERIODS = {"daily": "day", "hourly": "hour", "weekly": "week", "monthly": "month", "yearly": "year"}
REPEATING = ("every", "repeated", "workdays", *_PERIODS)
_CALENDAR = ("weekdays", "weekend", "months", "next", "next_week", "to", "at_or_to")
DAYS = ("weekdays", "repeated", "workdays", "weekend")
_DURATIONS = {"day": 86_400, **SECONDS}
_OF_DURATIONS = {"and", "number", "decimal", "clock", "span", *UNITS}
_ALSO_MORNING = ("morgen", "mañana")
"""Words for tomorrow that also mean the morning."""
_CLOCK_WORDS = ("at", "before_hour", "past_hour", "part", "am", "pm")
DAYS_AHEAD = {"today": 0, "tomorrow": 1, "tomorrow_part": 1, "after_tomorrow": 2, "tonight": 0}


class ExpressionParser:
    """Reads the words of one expression from left to right. Raises NotATimeError, or Refused if they can mean two
    times."""

    def __init__(self, words: Sequence[Word], now: float, zone: ZoneInfo, whole: bool) -> None:
        """`whole`: nothing else follows, so a lone number after a day is its hour."""
        self._words = [word for word in words if word.kind != "fill"]
        self._behind_fill = {word for before, word in pairwise(words) if before.kind == "fill"}
        self._parsed = ParsedExpression(datetime.fromtimestamp(now, zone), whole)
        self._whole = whole
        self._at = 0
        self._day_end = self._duration_end = -1
        """Index after the most recent day of a month, and after the most recent part of a duration; -1: none."""
        self._last_duration = ""

    def when(self) -> When:
        while self._at < len(self._words):
            self._take(self._words[self._at])
        return self._parsed.when()

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._words[at].kind if 0 <= at < len(self._words) else ""

    def _take(self, word: Word) -> None:
        self._at += 1
        if word.kind in REPEATING:
            self._take_repeating(word)
        elif word.kind in DAYS_AHEAD:
            self._take_day(word)
        elif word.kind in NUMERIC:
            self._take_figure(word)
        elif word.kind in UNITS and (self._parsed.every or self._parsed.is_next):
            self._take_unit(1, word.kind)
        elif word.kind in _CLOCK_WORDS:
            self._take_time(word)
        elif word.kind in _CALENDAR:
            self._take_calendar(word)
        elif word.kind == "span":
            self._take_unit(*word.value)
        else:
            self._take_connecting(word)

    def _take_connecting(self, word: Word) -> None:
        """`oder so` at the end of a time of day means "or so", and behind a day "or on Sunday"."""
        if word.kind == "and":
            self._take_and()
        elif word.kind == "in":
            self._parsed.is_in = self._parsed.offset is not None
        elif word.kind == "or_so":
            if self._kind() or self._kind(-2) in (*DAYS, *DAYS_AHEAD):
                raise NotATimeError
        elif word.kind not in ("ordinal", "after"):
            raise NotATimeError

    def _take_and(self) -> None:
        """It joins days, days of a month and the parts of a duration. Of two other times, one would be lost."""
        before, following = self._kind(-2), self._kind(1 if self._kind() == "every" else 0)
        if self._parsed.days and before in (*DAYS, "part") and following in DAYS:
            return
        if self._day_end == self._at - 1 and following == "number" and self._kind(1) not in _AFTER_HOUR:
            return
        if before not in (*UNITS, "span") or following not in ("number", "decimal", "clock", "span"):
            raise NotATimeError

    def _take_repeating(self, word: Word) -> None:
        self._parsed.every = True
        if word.kind == "every" and self._parsed.seconds:  # behind the interval, as in Japanese
            self._parsed.put("interval", (self._parsed.seconds, "second"))
            self._parsed.seconds = 0
        elif word.kind == "every" and self._parsed.relative_days:
            self._parsed.put("interval", (self._parsed.relative_days, "day"))
            self._parsed.relative_days = None
        elif word.kind in _PERIODS:
            self._parsed.put("interval", (1, _PERIODS[word.kind]))
        elif word.kind == "repeated":
            self._parsed.days.add(word.value)
        elif word.kind == "workdays":
            self._parsed.days |= {0, 1, 2, 3, 4}

    def _take_calendar(self, word: Word) -> None:
        if word.kind == "next" or (word.kind == "next_week" and self._kind() in ("month", "year")):
            self._parsed.is_next = True
        elif word.kind == "next_week":
            self._at += self._kind() == "week"
            self._parsed.is_next = True
            self._take_unit(1, "week")
        elif word.kind == "at_or_to" and self._kind() not in ("weekdays", "repeated"):
            self._take_time(Word("at", None, word.end))
        elif word.kind in ("to", "at_or_to"):
            self._take_range()
        elif word.kind == "months":
            self._parsed.put("month", word.value)
        else:
            self._parsed.days |= {5, 6} if word.kind == "weekend" else {word.value}

    def _take_range(self) -> None:
        """From the weekday before to the one behind: each week."""
        if len(self._parsed.days) != 1 or self._kind() not in ("weekdays", "repeated"):
            raise NotATimeError
        first, last = next(iter(self._parsed.days)), self._words[self._at].value
        self._at += 1
        self._parsed.every = True
        self._parsed.days = {(first + ahead) % 7 for ahead in range((last - first) % 7 + 1)}

    def _take_time(self, word: Word) -> None:
        """Words of the time of day."""
        following = self._kind()
        if word.kind == "part":
            self._parsed.put_part(word.value)
        elif word.kind in ("am", "pm"):
            self._parsed.put("half", word.kind)
        elif word.kind in ("before_hour", "past_hour") and following == "number":
            hour = self._words[self._at].value
            self._at += 2 if self._kind(1) == "oclock" else 1
            if not 1 <= hour <= 24:
                raise NotATimeError
            minutes = hour * 60 + (word.value if word.kind == "past_hour" else -word.value)
            self._set_clock(minutes // 60 % 24, minutes % 60)
        elif word.kind == "at" and following == "number":
            self._take_clock()
        elif word.kind == "at" and following in DAYS_AHEAD:
            self._parsed.starts = True
        elif word.kind != "at" or following not in ("clock", "point", "part", "am", "pm", "before_hour", "past_hour"):
            raise NotATimeError

    def _take_figure(self, word: Word) -> None:
        if word.kind == "number":
            self._at -= 1
            self._take_number(word.value)
        elif word.kind == "iso":
            self._set_date(word.value.year, word.value.month, word.value.day)
        elif word.kind in ("dotted", "slashed"):
            self._take_date(word.value)
        elif word.kind == "decimal":
            self._take_duration(word.value)
        elif self._kind() == "hour" and (self._kind(-2) in ("in", "every") or self._kind(1) == "after"):
            if word.kind == "point":  # "in 1.30 hours" may mean 78 or 90 minutes
                raise NotATimeError
            self._take_duration(word.value.hour + word.value.minute / 60)
        else:
            self._set_clock(24 if word.text.startswith("24") else word.value.hour, word.value.minute)
            if self._kind() in ("oclock", "hour"):
                self._at += 1

    def _take_day(self, word: Word) -> None:
        dated = self._parsed.every or bool(self._parsed.days) or self._parsed.offset is not None
        if dated and self._kind(-2) != "at" and word.text in _ALSO_MORNING:
            self._parsed.put_part("morning")
            return
        self._parsed.put("offset", DAYS_AHEAD[word.kind])
        if part := TONIGHT if word.kind == TONIGHT else word.value:
            self._parsed.put_part(part)

    def _take_date(self, days: tuple[Day, ...]) -> None:
        if len(days) > 1:
            first, second = (f"{self._year(*each)}-{each[1]:02}-{each[2]:02}" for each in days)
            words = "This date can mean {first} or {second}. Write it like {first}."
            raise Refused(words, first=first, second=second)
        self._set_date(*days[0])

    def _set_date(self, year: int | None, month: int, day: int) -> None:
        if year is not None:
            self._parsed.put("year", year)
        self._parsed.put("month", month)
        self._add_day(day)

    def _add_day(self, day: int, words: int = 0) -> None:
        self._at += words
        self._parsed.month_days.add(day)
        self._day_end = self._at

    def _year(self, year: int | None, month: int, day: int) -> int:
        """The given year, or that in which the day comes next."""
        today = self._parsed.here
        return year or today.year + ((month, day) < (today.month, today.day))

    def _take_unit(self, number: int, unit: str) -> None:
        if self._parsed.every:
            self._parsed.put("interval", (number, unit))
            return
        self._add_duration(unit)
        if unit in SECONDS:
            self._parsed.seconds += number * SECONDS[unit]
        elif unit in ("day", "week"):
            self._parsed.relative_days = (self._parsed.relative_days or 0) + number * (7 if unit == "week" else 1)
            self._parsed.next_week = self._parsed.is_next and unit == "week"
        else:
            self._parsed.months += number * (12 if unit == "year" else 1)

    def _add_duration(self, unit: str) -> None:
        """Lengths are added up only from the larger unit to the smaller one, with nothing in between."""
        if self._last_duration:
            between = {word.kind for word in self._words[self._duration_end : self._at]}
            smaller = UNITS.index(unit) < UNITS.index(self._last_duration)
            if not smaller or self._parsed.is_next or not between <= _OF_DURATIONS:
                raise NotATimeError
        self._last_duration, self._duration_end = unit, self._at

    def _take_duration(self, number: float) -> None:
        """A number that need not be whole, and its unit: `1.5 hours`, `1:30 h`."""
        unit = self._kind()
        if unit not in _DURATIONS:
            raise NotATimeError
        self._at += 1
        seconds = round(number * _DURATIONS[unit])
        if self._parsed.every:
            self._parsed.put("interval", (seconds, "second"))
        else:
            self._add_duration(unit)
            self._parsed.seconds += seconds

    def _take_date_part(self, value: int, following: str) -> bool:
        """Take a number and the word for year, month or day behind it, as in `2026年12月24日`."""
        if following == "day" and self._is_day():
            self._add_day(value, 2)
            return True
        if following == "month_of" or (following == "year" and value >= 1000):
            self._at += 2
            self._parsed.put("month" if following == "month_of" else "year", value)
            return True
        return False

    def _is_day(self) -> bool:
        """Whether a number and the word for day behind it mean a day of the month."""
        if self._parsed.month_days:
            return self._is_listed()
        return bool(self._parsed.month) or self._parsed.interval == (1, "month") or self._is_date_sign()

    def _is_listed(self) -> bool:
        """Whether "and" joins a number to a day of the month: `the 1st and 15`."""
        return self._kind(-1) == "and" and self._day_end == self._at - 1

    def _is_day_of_month(self, value: int, following: str) -> bool:
        """Whether a number is a day: `3rd`, `24 December`, `every month on the 1`, `el 1 de cada mes`."""
        if following in ("ordinal", "months"):
            return True
        if not 1 <= value <= 31:
            return False
        if self._parsed.month_days or self._parsed.month:
            return self._is_listed() or not self._parsed.month_days
        ahead = 1
        while self._kind(ahead) == "and" and self._kind(ahead + 1) == "number":
            ahead += 2
        following = self._kind(ahead)
        every_month = following in ("monthly", "months") or (following == "every" and self._kind(ahead + 1) == "month")
        next_month = following == "span" and self._words[self._at + ahead].value == (1, "month")
        if every_month or next_month or (self._parsed.months and self._whole and not following):
            return True
        return self._parsed.interval == (1, "month") and following not in (*UNITS, *_AFTER_HOUR)

    def _continues_duration(self) -> bool:
        """Whether the number belongs to a duration before it: `2 days and 3 hours`."""
        length_end = self._at - 1 if self._kind(-1) == "and" else self._at
        return self._duration_end == length_end and not self._parsed.next_week

    def _is_date_sign(self) -> bool:
        """Whether the word behind the number means the day of the month: `3日`, but not `3日後` or `3日2時間後`."""
        spans = self._kind(2) in ("after", "every") or self._kind(3) in SECONDS or self._kind(-1) in ("in", "after")
        return not spans and not self._parsed.every and self._words[self._at + 1].text in _DATE_SIGNS

    def _take_number(self, value: int) -> None:
        following = self._kind(1)
        if self._take_date_part(value, following):
            return
        dated = (
            self._parsed.offset is not None
            or bool(self._parsed.days)
            or self._parsed.dated
            or self._parsed.relative_days is not None
        )
        if following in UNITS and self._words[self._at + 1] in self._behind_fill:  # "el 3 del mes"
            raise NotATimeError
        if following in UNITS and not (
            following == "hour" and not self._continues_duration() and (dated or self._parsed.interval)
        ):
            self._at += 2
            self._take_unit(value, following)
        elif self._is_day_of_month(value, following):
            self._add_day(value, 2 if following == "ordinal" else 1)
        elif value > 31 and self._parsed.month:
            self._at += 1
            self._parsed.put("year", value)
        elif following in _AFTER_HOUR:
            self._take_clock()
        else:
            self._take_lone_number(value, following, dated)

    def _take_lone_number(self, value: int, following: str, dated: bool) -> None:
        """A number that only its place explains. `dated`: a day was named before."""
        if following == "weekdays" and self._parsed.every and self._parsed.interval is None and value > 1:
            self._at += 1
            self._parsed.put("interval", (value, "week"))
        elif self._whole and not dated and following == "at" and self._kind(-1) != "in" and 1 <= value <= 31:
            self._add_day(value, 1)
        elif self._whole and (dated or self._parsed.every) and self._parsed.clock is None and self._kind(-1) != "day":
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
        if self._parsed.clock is not None or not 0 <= hour * 60 + minute <= 24 * 60:
            raise NotATimeError
        self._parsed.clock = time(hour % 24, minute)
        self._parsed.days_later = hour // 24
