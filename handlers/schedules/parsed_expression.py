"""What the words of a time expression say, and the times that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from handlers.schedules.rules import DAYS, EVERY, MONTH, day_of_month, is_rule, local_time, next_time
from handlers.schedules.time_words import PARTS, TONIGHT, UNITS
from routing.errors import Refused

DEFAULT_TIME = time(9)
"""The time of a day without one."""
SECONDS = {"second": 1, "minute": 60, "hour": 3600}
SHORTEST_MONTH = 28
SMALL_HOURS = 4
"""Before this hour, "tonight" means the next day."""
_LATE_FROM = {"afternoon": 1, "evening": SMALL_HOURS, TONIGHT: SMALL_HOURS, "night": 6}
"""From this hour on, the part of the day makes it an hour after noon."""
_NIGHT = {"evening", "night", "midnight"}
"""Twelve o'clock at these is midnight."""
_CONTRADICTIONS = (("morning", "pm"), ("afternoon", "am"))


@dataclass(frozen=True, slots=True)
class When:
    """The first time, in Unix seconds, and the rule of repetition; empty: once."""

    at: float
    rule: str = ""


class NotATimeError(Exception):
    """These words are not a time expression."""


class NoRuleError(NotATimeError):
    """These words are a time, but no rule repeats it."""


@dataclass(slots=True)
class ParsedExpression:
    """`here` is the present in the person's zone. `whole`: no other text follows. `interval` is a number and a unit,
    `days` are weekdays from Monday (0), `half` is am or pm, `month_days` are days of a month. `offset`,
    `relative_days`, `months` and `seconds` count from now. `next_week`: a weekday is that of next week. `is_in`: "in"
    was said behind `offset`. `starts`: it repeats from the day of `offset` on."""

    here: datetime
    whole: bool
    every: bool = False
    is_next: bool = False
    next_week: bool = False
    is_in: bool = False
    starts: bool = False
    half: str = ""
    interval: tuple[int, str] | None = None
    days: set[int] = field(default_factory=set)
    clock: time | None = None
    part: str = ""
    offset: int | None = None
    year: int | None = None
    month: int | None = None
    month_days: set[int] = field(default_factory=set)
    seconds: int = 0
    months: int = 0
    relative_days: int | None = None
    days_later: int = 0

    def put(self, name: str, value: object) -> None:
        """Raises NotATimeError if another value was said before, as one of the two would be lost."""
        if getattr(self, name) not in (None, "", value):
            raise NotATimeError
        setattr(self, name, value)

    def put_part(self, part: str) -> None:
        """`tonight` may be said more exactly: `tonight at midnight`."""
        said = {self.part, part} - {""}
        if said & _NIGHT and said <= {TONIGHT, *_NIGHT}:
            said.discard(TONIGHT)
        if len(said) > 1:
            raise NotATimeError
        (self.part,) = said

    @property
    def dated(self) -> bool:
        """Whether a part of a date was said."""
        return bool(self.year or self.month or self.month_days)

    def when(self) -> When:
        """Raises NotATimeError, or Refused for a date that does not exist."""
        if (self.part, self.half) in _CONTRADICTIONS or (self.half == "pm" and self.clock is None):
            raise NotATimeError
        if self.clock is not None and self.clock.hour == 12 and not self.half and self.part in (TONIGHT, *_NIGHT):
            self.clock, self.days_later = self.clock.replace(hour=0), int(self.part != "midnight")
        if self.every:
            return self._repeated()
        if self.starts:
            raise NotATimeError
        if self.seconds:
            if self.clock or self.days or self.offset is not None or self.part or self.dated:
                raise NotATimeError
            later = self.relative_days is not None or self.months
            return When((self._once() if later else self._now) + self.seconds)
        return When(self._once())

    @property
    def _now(self) -> float:
        return self.here.timestamp()

    @property
    def _zone(self) -> ZoneInfo:
        assert isinstance(self.here.tzinfo, ZoneInfo)
        return self.here.tzinfo

    def _time(self) -> time:
        """The time of day."""
        if self.clock is None:
            return time(PARTS[self.part]) if self.part else DEFAULT_TIME
        hour = self.clock.hour
        if self.half:
            if hour > 12:
                raise NotATimeError
            hour = hour % 12 + (12 if self.half == "pm" else 0)
        elif _LATE_FROM.get(self.part, 12) <= hour < 12:
            hour += 12
        return self.clock.replace(hour=hour)

    def _once(self) -> float:
        at, today = self._time(), self.here.date()
        if len(self.days) > 1 or len(self.month_days) > 1:
            raise Refused("These are several days. Choose one, or write “every” before them.")
        if self.relative_days is not None or self.months:
            return self._later(at, today)
        if self.dated:
            return self._on_date(at, today)
        if self.offset is not None:
            if not self.whole and self.days:  # "tomorrow" and a text, "Monday's report"
                raise NotATimeError
            self._check_weekday(today + timedelta(days=self.offset))
            found = self._on_day(today + timedelta(days=self.offset), at)
            tonight = self.offset == 0 and self.part in (TONIGHT, *_NIGHT) and at.hour < SMALL_HOURS
            return self._on_day(today + timedelta(days=1), at) if tonight and found <= self._now else found
        if self.days:
            ahead = (next(iter(self.days)) - today.weekday()) % 7
            day = today + timedelta(days=ahead)
            if (self.is_next and not ahead) or self._on_day(day, at) <= self._now:
                day += timedelta(days=7)
            return self._on_day(day, at)
        if self.clock is None and not self.part:
            raise NotATimeError
        found = local_time(today, at, self._zone)
        return found if found > self._now else local_time(today + timedelta(days=1), at, self._zone)

    def _on_day(self, day: date, at: time) -> float:
        return local_time(day + timedelta(days=self.days_later), at, self._zone)

    def _later(self, at: time, today: date) -> float:
        """In some days or months; at the same time of day, unless there is another. `tomorrow in two weeks` counts
        from tomorrow."""
        days = self.relative_days or 0
        if self.offset and (not self.is_in or not days or days % 7 or self.months):
            raise NotATimeError
        if self.dated:
            return self._in_month(at, today)
        try:
            day = today + timedelta(days=days + (self.offset or 0))
            months = day.month - 1 + self.months
            day = day_of_month(day.year + months // 12, months % 12 + 1, day.day)
        except (ValueError, OverflowError):
            raise NotATimeError from None
        if self.days:
            if not self.next_week or self.relative_days != 7 or self.months:
                raise NotATimeError
            day = day - timedelta(days=day.weekday()) + timedelta(days=next(iter(self.days)))
        timed = self.clock is not None or bool(self.part or self.days or self.offset)
        return self._on_day(day, at if timed else self.here.time().replace(tzinfo=None))

    def _in_month(self, at: time, today: date) -> float:
        """A day of a later month or year: `next month on the 3rd`, `next year on May 5`."""
        unclear = self.relative_days is not None or self.year is not None or not self.month_days
        if unclear or (self.month and self.months % 12):
            raise NotATimeError
        months = today.month - 1 + self.months
        self.year, self.month = today.year + months // 12, self.month or months % 12 + 1
        return self._on_date(at, today)

    def _check_weekday(self, day: date) -> None:
        """Raises Refused if the day is not on the weekday that was named."""
        if self.days and day.weekday() not in self.days:
            raise Refused("{date} is not on that day of the week. Check both.", date=day.isoformat())

    def _on_date(self, at: time, today: date) -> float:
        year, month, day = self.year, self.month, next(iter(self.month_days), None)
        if day is None or (month is None and self.clock is None and not self.whole):
            raise NotATimeError
        try:
            if month is None:
                months = [today.month - 1 + ahead for ahead in range(3)]
                days = [(today.year + each // 12, each % 12 + 1) for each in months]
                tried = [date(*each, day) for each in days if day <= day_of_month(*each, 31).day]
            else:
                years = [year] if year is not None else [today.year + ahead for ahead in range(9)]
                tried = [date(each, month, day) for each in years if day <= day_of_month(each, month, 31).day]
        except (ValueError, OverflowError):
            tried = []
        times = [(self._on_day(each, at), each) for each in tried]
        if not times:
            raise Refused("This date does not exist: {date}.", date=_shown(year, month, day))
        found, on = next((each for each in times if each[0] > self._now), times[-1])
        self._check_weekday(on)
        if self.offset is not None and on != today + timedelta(days=self.offset):
            raise NotATimeError
        return found

    def _check_repeated(self, number: int, unit: str) -> None:
        """Raises NotATimeError if something that was said would not be in the rule."""
        offset = self.offset is not None and (not self.starts or number > 1 or unit in SECONDS)
        if offset or self.seconds or self.months or self.relative_days is not None:
            raise NotATimeError
        units = ("year",) if self.month else ("month",) if self.month_days else ("day", "week") if self.days else UNITS
        if number < 1 or unit not in ("", *units) or (self.dated and (self.days or number > 1)):
            raise NotATimeError
        if self.days_later and (unit not in ("", "day") or number > 1 or self.days or self.dated):
            raise NotATimeError
        if unit in SECONDS and (self.clock or self.part):
            raise NotATimeError

    def _repeated(self) -> When:
        number, unit = self.interval or (1, "")
        self._check_repeated(number, unit)
        if unit in SECONDS:
            return When(self._now + number * SECONDS[unit], f"{EVERY}{number * SECONDS[unit]}")
        at = self._time()
        if self.days and number > 1:
            if len(self.days) > 1 or unit == "day":
                raise NotATimeError
            return When(self._once(), f"{DAYS}{7 * number} {at:%H:%M}")
        if number > 1:
            if unit not in ("day", "week"):
                raise NotATimeError
            today = local_time(self.here.date(), at, self._zone)
            rule = f"{DAYS}{number * (7 if unit == 'week' else 1)} {at:%H:%M}"
            return When(today if today > self._now else next_time(rule, today, self._now, self._zone) or today, rule)
        rule = self._rule(unit, at)
        start = local_time(self.here.date() + timedelta(days=self.offset or 0), time(0), self._zone) - 1
        if not is_rule(rule) or (following := next_time(rule, start, max(start, self._now), self._zone)) is None:
            raise NotATimeError
        return When(following, rule)

    def _rule(self, unit: str, at: time) -> str:
        clock = f"{at.minute} {at.hour}"
        if self.year is not None or (self.month and not self.month_days):
            raise NotATimeError
        if self.month_days or unit == "month":
            days = sorted(self.month_days) or [self.here.day]
            listed = ",".join(map(str, days))
            if self.month:
                return f"{clock} {'L' if (days, self.month) == ([29], 2) else listed} {self.month} *"
            if days[-1] <= SHORTEST_MONTH:
                return f"{clock} {listed} * *"
            if len(days) > 1:
                raise NoRuleError
            return f"{MONTH}{listed} {at:%H:%M}"
        if unit == "year":
            self.month, self.month_days = self.here.month, {self.here.day}
            return self._rule(unit, at)
        if self.days:
            return f"{clock} * * {_weekdays(self.days)}"
        if unit == "week":
            return f"{clock} * * {_weekdays({self.here.weekday()})}"
        if unit == "day" or self.part:
            return f"{clock} * * *"
        raise NotATimeError


def _shown(year: int | None, month: int | None, day: int) -> str:
    return "-".join(f"{each:02}" for each in (year, month, day) if each is not None)


def _weekdays(days: set[int]) -> str:
    """Weekdays as cron writes them: Sunday is 0."""
    return "1-5" if days == {0, 1, 2, 3, 4} else ",".join(str(each) for each in sorted((day + 1) % 7 for day in days))
