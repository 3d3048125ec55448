"""Puts Open-Meteo's figures into lines for a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any

from handlers.tools.weather.days import FORECAST_DAYS, Days
from handlers.tools.weather.open_meteo import number_of, text_of
from handlers.tools.weather.places import FoundPlace
from routing.errors import ToolFailed

WEATHER_CODES = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "heavy drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light rain showers",
    81: "rain showers",
    82: "violent rain showers",
    85: "light snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with hail",
    99: "thunderstorm with heavy hail",
}
"""WMO's codes, as far as Open-Meteo uses them."""
HOURS = 24
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_POINTS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def describe_weather(found: FoundPlace, days: Days, answer: Mapping[str, Any]) -> str:
    """The place, the current weather if today is asked for, a line per day, and the hours of a single one. Values that
    are missing are left out. Raises ToolFailed if there is none at all."""
    daily = [_Moment(answer, "daily", at) for at in range(_length(answer, "daily", FORECAST_DAYS))]
    lines = [_day(each, days.today) for each in daily if each.day]
    now = [_now(_Moment(answer, "current"))] if days.first <= days.today <= days.last else []
    hours = list(_hours(answer, days)) if days.first == days.last else []
    if not any((*lines, *now, *hours)):
        raise ToolFailed("The weather service knows nothing about this place and day. Tell the user.")
    return "\n".join(filter(None, [*_place(found), *now, *lines, *hours, "Source: Open-Meteo."]))


class _Moment:
    """The values of one hour or day in a section of the answer; without `at`, those of a section with one time."""

    def __init__(self, answer: Mapping[str, Any], section: str, at: int | None = None) -> None:
        self._values = _section(answer, section)
        self._units = _section(answer, f"{section}_units")
        self._at = at
        self.time = text_of(self.value("time"))
        self.day = _date(self.time)

    def value(self, name: str) -> object:
        found = self._values.get(name)
        if self._at is None:
            return found
        return found[self._at] if isinstance(found, list) and self._at < len(found) else None

    def measured(self, name: str, words: str = "{}") -> str:
        """The value with its unit in `words`; empty if it is missing."""
        value = number_of(self.value(name))
        if value is None:
            return ""
        unit = text_of(self._units.get(name)).replace("mp/h", "mph")[:12]
        return words.format(f"{value:g} {unit}".rstrip())

    @property
    def sky(self) -> str:
        code = number_of(self.value("weather_code"))
        return "" if code is None else WEATHER_CODES.get(int(code), f"weather code {code:g}")


def _place(found: FoundPlace) -> Iterator[str]:
    place = found.place
    yield f"{place} ({place.latitude:.2f}, {place.longitude:.2f}), local times:"
    if found.others:
        yield f"(Others of this name, if another was meant: {'; '.join(map(str, found.others))}.)"


def _now(now: _Moment) -> str:
    degrees = number_of(now.value("wind_direction_10m"))
    wind = now.measured("wind_speed_10m", "wind {}")
    if wind and degrees is not None:
        wind += f" from {_POINTS[round(degrees / 45) % len(_POINTS)]}"
    parts = (
        now.sky,
        now.measured("temperature_2m"),
        now.measured("apparent_temperature", "feels like {}"),
        now.measured("relative_humidity_2m", "humidity {}"),
        now.measured("precipitation", "precipitation {}"),
        wind,
        now.measured("wind_gusts_10m", "gusts {}"),
    )
    said = ", ".join(filter(None, parts))
    return f"Now{f' ({now.time[11:16]})' if now.day else ''}: {said}." if said else ""


def _day(each: _Moment, today: date) -> str:
    assert each.day is not None
    away = (each.day - today).days
    relative = {-1: " (yesterday)", 0: " (today)", 1: " (tomorrow)"}.get(away, "")
    least, most = number_of(each.value("temperature_2m_min")), each.measured("temperature_2m_max")
    parts = (
        each.sky,
        f"{least:g} to {most}" if least is not None and most else most,
        each.measured("precipitation_sum", "precipitation {}"),
        each.measured("precipitation_probability_max", "probability of precipitation {}"),
        each.measured("wind_speed_10m_max", "wind up to {}"),
        each.measured("wind_gusts_10m_max", "gusts up to {}"),
        _clock_time(each, "sunrise"),
        _clock_time(each, "sunset"),
        each.measured("uv_index_max", "UV index up to {}"),
    )
    return f"{_DAYS[each.day.weekday()]} {each.day}{relative}: {', '.join(filter(None, parts)) or 'no data'}."


def _hours(answer: Mapping[str, Any], days: Days) -> Iterator[str]:
    """The hours of the day; of today, those that are left."""
    now = text_of(_section(answer, "current").get("time"))[:13] if days.first == days.today else ""
    for at in range(_length(answer, "hourly", HOURS)):
        each = _Moment(answer, "hourly", at)
        if each.day is None or each.time[:13] < now:
            continue
        parts = (
            each.measured("temperature_2m"),
            each.sky,
            each.measured("precipitation", "precipitation {}"),
            each.measured("precipitation_probability", "probability {}"),
            each.measured("wind_speed_10m", "wind {}"),
        )
        yield f"{each.time[11:16]} {', '.join(filter(None, parts))}"


def _clock_time(each: _Moment, name: str) -> str:
    time = text_of(each.value(name))
    return f"{name} {time[11:16]}" if _date(time) else ""


def _date(text: str) -> date | None:
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None


def _section(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = answer.get(name)
    return found if isinstance(found, dict) else {}


def _length(answer: Mapping[str, Any], section: str, most: int) -> int:
    times = _section(answer, section).get("time")
    return min(len(times), most) if isinstance(times, list) else 0
