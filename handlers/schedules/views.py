"""Times and rules of repetition in words."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from handlers.languages import Say
from routing.types.schedules import Schedule

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LONG_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""In the order of cron."""
LONGEST_MONTH = "31"
MAX_TEXT = 80
LATE_SECONDS = 60.0


def moment(say: Say, at: float, zone: ZoneInfo, now: float) -> str:
    """`Tue 24 Nov, 08:00`; with the year if it is another one than now."""
    there = datetime.fromtimestamp(at, zone)
    year = there.year != datetime.fromtimestamp(now, zone).year
    words = "{weekday} {day} {month} {year}, {time}" if year else "{weekday} {day} {month}, {time}"
    return say(
        words,
        weekday=say(WEEKDAYS[there.weekday()]),
        day=str(there.day),
        month=say(MONTHS[there.month - 1]),
        year=str(there.year),
        time=f"{there:%H:%M}",
    )


def repetition(say: Say, rule: str) -> str:
    """`every weekday at 08:00`; a rule that has no short description is shown as cron."""
    name, *fields = rule.split()
    if name == "@every":
        minutes, seconds = divmod(int(fields[0]), 60)
        hours, rest = divmod(minutes, 60)
        if rest or not hours or seconds:
            return say("every {n} minutes", n=minutes)
        return say("every hour") if hours == 1 else say("every {n} hours", n=hours)
    if name == "@days":
        return say("every {n} days at {time}", n=int(fields[0]), time=fields[1])
    if name == "@month":
        if fields[0] == LONGEST_MONTH:
            return say("every month on the last day at {time}", time=fields[1])
        return say(
            "every month on day {day} at {time}, in shorter months on the last day", day=fields[0], time=fields[1]
        )
    return _cron(say, rule)


def _cron(say: Say, rule: str) -> str:
    minute, hour, day, month, weekday = rule.split()
    words = ""
    if minute.isdigit() and hour.isdigit():
        time = f"{int(hour):02}:{int(minute):02}"
        if (day, month) == ("*", "*"):
            words = _by_weekday(say, weekday, time)
        elif weekday == "*":
            words = _by_date(say, day, month, time)
    return words or f"cron `{rule}`"


def _by_weekday(say: Say, weekday: str, time: str) -> str:
    """Empty if there is no short description, as in `_by_date`."""
    if weekday == "*":
        return say("every day at {time}", time=time)
    if weekday == "1-5":
        return say("every weekday at {time}", time=time)
    if all(each in "0123456" and each for each in weekday.split(",")):
        days = ", ".join(say(LONG_DAYS[int(each)]) for each in weekday.split(","))
        return say("every {days} at {time}", days=days, time=time)
    return ""


def _by_date(say: Say, day: str, month: str, time: str) -> str:
    if day.isdigit() and month.isdigit():
        return say("every year on {day} {month} at {time}", day=day, month=say(MONTHS[int(month) - 1]), time=time)
    if (day, month) == ("L", "2"):
        return say("every year on the last day of February at {time}", time=time)
    if month != "*":
        return ""
    if day == "L":
        return say("every month on the last day at {time}", time=time)
    if day.isdigit():
        return say("every month on day {day} at {time}", day=day, time=time)
    if day.replace(",", "").isdigit():
        return say("every month on days {days} at {time}", days=day.replace(",", ", "), time=time)
    return ""


def described(say: Say, schedule: Schedule, zone: ZoneInfo, now: float) -> str:
    """When a schedule is due: `every weekday at 08:00, next Tue 24 Nov, 08:00 (Europe/Berlin)`."""
    at = moment(say, schedule.next_at, zone, now)
    if not schedule.rule:
        return f"{at} ({schedule.time_zone})"
    rule = repetition(say, schedule.rule)
    return say("{rule}, next {time} ({zone})", rule=rule, time=at, zone=schedule.time_zone)


def short(text: str) -> str:
    """The text as one short line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def late_note(say: Say, due: float, now: float, zone: ZoneInfo) -> tuple[str, ...]:
    """A sentence on why something comes late, if it does."""
    if now - due < LATE_SECONDS:
        return ()
    return (say("(This was due on {time}, but I was not running then.)", time=moment(say, due, zone, now)),)
