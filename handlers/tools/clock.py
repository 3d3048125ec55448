"""The current time in any time zone."""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, datetime, timedelta, timezone
from functools import cache

from rapidfuzz import fuzz, process

from handlers.tools.authoring.decorator import tool
from routing.errors import ToolFailed
from routing.ports import Clock
from routing.types.tools import ToolScope, Traits

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HALF_A_YEAR = timedelta(days=182)
_OFFSET = re.compile(r"(?:(?:UTC|GMT) ?)?([+\-−])([0-9]{1,2})(?::?([0-5][0-9]))?", re.IGNORECASE)
_MAX_OFFSET = timedelta(hours=14)  # the Line Islands; the westernmost offset is -12


class ClockTools:
    """Uses one clock and the system's time zone database."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @tool(role="guest", traits=Traits(outside=False))
    def get_datetime(self, scope: ToolScope, time_zone: str = "") -> str:
        """The current time in `time_zone`, else in the person's time zone, as one line. A zone is an IANA name or its
        city, in any case, or an offset such as UTC+2.

        Raises ToolFailed with the nearest names for an unknown zone."""
        instant, wanted = datetime.fromtimestamp(int(self._clock()), UTC), time_zone.strip() or scope.time_zone
        zone = _fixed(wanted) or _zone(wanted, instant)
        now = instant.astimezone(zone)
        offset, named = "UTC" + now.isoformat()[19:25], isinstance(zone, zoneinfo.ZoneInfo)
        short = f" {now.tzname()}" if named and (now.tzname() or "+")[0] not in "+-" else ""
        where = f"{offset}, {zone}" if named else offset
        week, day = now.isocalendar().week, now.timetuple().tm_yday
        local = f"{_DAYS[now.weekday()]}, {now:%Y-%m-%d %H:%M:%S}{short} ({where}, week {week}, day {day})"
        return f"{local}; in UTC {instant:%Y-%m-%dT%H:%M:%SZ}"


def _fixed(wanted: str) -> timezone | None:
    """Parses `UTC+2` and `GMT-03:30` with the usual sign. The database's own `Etc/GMT+2` is two hours behind UTC."""
    found = _OFFSET.fullmatch(wanted)
    if not found:
        return None
    span = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-span if found[1] in "-−" else span) if span <= _MAX_OFFSET else None


def _zone(wanted: str, instant: datetime) -> zoneinfo.ZoneInfo:
    names, word, asked = _names(), _plain(wanted), f"{wanted[:60]!r}"
    found = [names[word]] if word in names else [name for plain, name in names.items() if _city(plain) == word]
    zones = [zoneinfo.ZoneInfo(name) for name in sorted(found, key=lambda name: (name.count("/"), name))]
    if not zones:
        raise ToolFailed(f"{asked} is not a time zone. {_hint(word[:60], names)}")
    if len({_rules(zone, instant) for zone in zones}) > 1:
        raise ToolFailed(f"{asked} can mean several time zones: use one of {', '.join(map(str, zones))}.")
    return zones[0]


@cache
def _names() -> dict[str, str]:
    """All zones of the system's database by normalised name. Reads several hundred files once."""
    return {_plain(name): name for name in sorted(zoneinfo.available_timezones() | {"UTC"})}


def _plain(name: str) -> str:
    return "_".join(name.casefold().replace("_", " ").split())


def _city(plain: str) -> str:
    return plain.rpartition("/")[2]


def _rules(zone: zoneinfo.ZoneInfo, instant: datetime) -> tuple[timedelta | None, ...]:
    """The zone's offsets now and half a year away. Equal for two names of one zone."""
    return tuple((instant + span).astimezone(zone).utcoffset() for span in (timedelta(), _HALF_A_YEAR))


def _hint(word: str, names: dict[str, str]) -> str:
    known = {_city(plain): name for plain, name in names.items()} | names
    near = process.extract(word, list(known), scorer=fuzz.ratio, limit=6, score_cutoff=65)
    nearest = list(dict.fromkeys(known[plain] for plain, _, _ in near))[:4]
    advice = f"The nearest names: {', '.join(nearest)}." if nearest else ""
    return advice or "Use an IANA name such as Europe/Berlin, or an offset such as UTC+2."
