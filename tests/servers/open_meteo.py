"""Open-Meteo on loopback: answers in its documented form, and refuses what the documents don't name.

The forms are those of https://open-meteo.com/en/docs and https://open-meteo.com/en/docs/geocoding-api."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from aiohttp import web

from tests.servers.listener import Leaving, Listener

HOURLY = (
    *("temperature_2m", "relative_humidity_2m", "apparent_temperature", "precipitation_probability", "precipitation"),
    *("weather_code", "cloud_cover", "wind_speed_10m", "wind_direction_10m", "wind_gusts_10m"),
)
DAILY = (
    *("weather_code", "temperature_2m_max", "temperature_2m_min", "sunrise", "sunset", "uv_index_max"),
    *("precipitation_sum", "precipitation_probability_max", "wind_speed_10m_max", "wind_gusts_10m_max"),
)
PARAMETERS: Mapping[str, tuple[str, ...] | None] = {
    "latitude": None,
    "longitude": None,
    "timezone": None,
    "start_date": None,
    "end_date": None,
    "current": HOURLY,
    "hourly": HOURLY,
    "daily": DAILY,
    "temperature_unit": ("celsius", "fahrenheit"),
    "wind_speed_unit": ("kmh", "ms", "mph", "kn"),
    "precipitation_unit": ("mm", "inch"),
}
BERLIN = {
    "id": 2950159,
    "name": "Berlin",
    "latitude": 52.52437,
    "longitude": 13.41053,
    "elevation": 74.0,
    "feature_code": "PPLC",
    "country_code": "DE",
    "admin1_id": 2950157,
    "timezone": "Europe/Berlin",
    "population": 3426354,
    "country_id": 2921044,
    "country": "Germany",
    "admin1": "State of Berlin",
}


def town(name: str, region: str, country: str, code: str, zone: str) -> dict[str, Any]:
    """A place with fewer fields."""
    place = {"name": name, "latitude": 39.8, "longitude": -89.6, "country_code": code, "timezone": zone}
    return place | {"admin1": region, "country": country}


PLACES = (
    BERLIN,
    town("Springfield", "Missouri", "United States", "US", "America/Chicago"),
    town("Springfield", "Massachusetts", "United States", "US", "America/New_York"),
    town("Springfield", "Illinois", "United States", "US", "America/Chicago"),
    town("Springfield", "Victoria", "Australia", "AU", "Australia/Melbourne"),
    town("New York", "New York", "United States", "US", "America/New_York"),
    town("Auckland", "Auckland", "New Zealand", "NZ", "Pacific/Auckland"),
)


class OpenMeteoServer(Leaving):
    """Every day is dry and mild unless it is in `rainy`. `broken` replaces every answer, `changed` some fields of the
    places that are found."""

    def __init__(self) -> None:
        self._listener = Listener(self._answer, 0, 2**20)
        self.rainy: set[date] = set()
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.broken: web.StreamResponse | None = None
        self.changed: Mapping[str, str] = {}
        self.today = date(2026, 11, 23)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        given = dict(request.query)
        self.requests.append((request.path, given))
        if self.broken is not None:
            return self.broken
        match request.path:
            case "/v1/search":
                return _places(given, self.changed)
            case "/v1/forecast":
                return self._forecast(given)
        return web.Response(status=404, text="Not Found")

    def _forecast(self, given: Mapping[str, str]) -> web.Response:
        for name, value in given.items():
            allowed = PARAMETERS.get(name, ())
            wrong = next((one for one in value.split(",") if allowed is not None and one not in allowed), None)
            if wrong is not None:
                return _refused(f"Cannot initialize from invalid String value {wrong} for key {name}")
        first, last = date.fromisoformat(given["start_date"]), date.fromisoformat(given["end_date"])
        if not self.today - timedelta(days=92) <= first <= last <= self.today + timedelta(days=16):
            return _refused("Parameter 'start_date' is out of allowed range")
        if not (abs(float(given["latitude"])) <= 90 and abs(float(given["longitude"])) <= 180):
            return _refused("Latitude must be in range of -90 to 90°.")
        days = [first + timedelta(days=at) for at in range((last - first).days + 1)]
        document: dict[str, Any] = {
            "latitude": 52.52,
            "longitude": 13.419998,
            "generationtime_ms": 0.2,
            "utc_offset_seconds": 3600,
            "timezone": given["timezone"],
            "timezone_abbreviation": "CET",
            "elevation": 38.0,
        }
        units = _units(given)
        for section, times in (
            ("hourly", [f"{day}T{hour:02}:00" for day in days for hour in range(24)]),
            ("daily", list(map(str, days))),
        ):
            if section in given:
                names = given[section].split(",")
                document[f"{section}_units"] = {"time": "iso8601"} | {name: units.get(name, "") for name in names}
                document[section] = {"time": times} | {
                    name: [self._value(name, time, units) for time in times] for name in names
                }
        if "current" in given:
            names, time = given["current"].split(","), f"{self.today}T12:30"
            fixed: dict[str, object] = {"time": time, "interval": 900}
            document["current_units"] = {"time": "iso8601", "interval": "seconds"} | {
                name: units.get(name, "") for name in names
            }
            document["current"] = fixed | {name: self._value(name, time, units) for name in names}
        return web.json_response(document)

    def _value(self, name: str, time: str, units: Mapping[str, str]) -> object:
        rain = date.fromisoformat(time[:10]) in self.rainy
        warm = {"°C": (9.5, 4.0), "°F": (49.1, 39.2)}[units["temperature_2m"]]
        return {
            "weather_code": 63 if rain else 2,
            "temperature_2m_min": warm[1],
            "relative_humidity_2m": 71,
            "precipitation": 1.2 if rain else 0.0,
            "precipitation_sum": 8.4 if rain else 0.0,
            "precipitation_probability": 90 if rain else 3,
            "precipitation_probability_max": 95 if rain else 5,
            "wind_speed_10m": 14.0,
            "wind_speed_10m_max": 21.6,
            "wind_gusts_10m": 30.2,
            "wind_gusts_10m_max": 44.6,
            "wind_direction_10m": 230,
            "sunrise": f"{time[:10]}T07:38",
            "sunset": f"{time[:10]}T16:02",
            "uv_index_max": 0.9,
        }.get(name, warm[0])


def _places(given: Mapping[str, str], changed: Mapping[str, str]) -> web.Response:
    if not {*given} <= {"name", "count", "language", "format"} or not 1 <= int(given["count"]) <= 100:
        return _refused("Parameter count must be between 1 and 100.")
    found = [{**place, **changed} for place in PLACES if str(place["name"]).casefold() == given["name"].casefold()]
    answer: dict[str, object] = {"generationtime_ms": 0.6}
    return web.json_response({"results": found[: int(given["count"])]} | answer if found else answer)


def _units(given: Mapping[str, str]) -> dict[str, str]:
    degrees = "°F" if given.get("temperature_unit") == "fahrenheit" else "°C"
    speed = "mp/h" if given.get("wind_speed_unit") == "mph" else "km/h"
    amount = "inch" if given.get("precipitation_unit") == "inch" else "mm"
    return {
        **dict.fromkeys(
            ("temperature_2m", "apparent_temperature", "temperature_2m_max", "temperature_2m_min"), degrees
        ),
        **dict.fromkeys(("wind_speed_10m", "wind_gusts_10m", "wind_speed_10m_max", "wind_gusts_10m_max"), speed),
        **dict.fromkeys(("precipitation", "precipitation_sum"), amount),
        **dict.fromkeys(("precipitation_probability", "precipitation_probability_max", "relative_humidity_2m"), "%"),
        **{"weather_code": "wmo code", "wind_direction_10m": "°"},
        **dict.fromkeys(("sunrise", "sunset"), "iso8601"),
    }


def _refused(reason: str) -> web.Response:
    return web.Response(status=400, text=json.dumps({"error": True, "reason": reason}), content_type="application/json")
