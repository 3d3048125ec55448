"""A client of Open-Meteo's APIs for forecasts and place names (https://open-meteo.com/en/docs)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal

import httpx

from handlers.tools.dependencies import WeatherAddresses
from handlers.tools.weather.places import Place
from routing.bounded import Bounded
from routing.errors import ToolFailed
from routing.ports import Clock

Units = Literal["metric", "imperial"]
SECONDS = 10.0
"""Time limit for a request."""
MAX_BYTES = 1_000_000
"""16 days hour by hour are 30 kB."""
KEPT_SECONDS, MAX_KEPT = 600.0, 200
"""How long answers are kept, and how many."""
PLACES = 20
MAX_TEXT = 80
CURRENT = (
    *("temperature_2m", "apparent_temperature", "relative_humidity_2m", "precipitation", "weather_code"),
    *("wind_speed_10m", "wind_direction_10m", "wind_gusts_10m"),
)
HOURLY = ("temperature_2m", "precipitation_probability", "precipitation", "weather_code", "wind_speed_10m")
DAILY = (
    *("weather_code", "temperature_2m_max", "temperature_2m_min", "precipitation_sum", "precipitation_probability_max"),
    *("wind_speed_10m_max", "wind_gusts_10m_max", "sunrise", "sunset", "uv_index_max"),
)
_IMPERIAL = {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph", "precipitation_unit": "inch"}
_LATER = "Tell the user, who can ask again later."


class OpenMeteo:
    """Every method raises ToolFailed if the service does not answer as documented. Answers are kept for ten minutes."""

    def __init__(self, addresses: WeatherAddresses, clock: Clock) -> None:
        self._addresses = addresses
        self._clock = clock
        self._kept: Bounded[tuple[str, ...], tuple[float, Mapping[str, Any]]] = Bounded(MAX_KEPT)

    async def places(self, name: str, language: str) -> Sequence[Place]:
        """Places of this name, the best known first, named in a language (an ISO code)."""
        wanted = {"name": name, "count": str(PLACES), "language": language.lower().split("-")[0], "format": "json"}
        answer = await self._get(f"{_root(self._addresses.geocoding)}/v1/search", wanted)
        found = answer.get("results", [])
        if not isinstance(found, list):
            raise _garbled()
        return [place for each in found[:PLACES] if (place := _place(each)) is not None]

    async def forecast(self, place: Place, first: date, last: date, units: Units) -> Mapping[str, Any]:
        """The document for these days, with the current weather; for a single day also its hours."""
        wanted = {
            "latitude": f"{place.latitude:.4f}",
            "longitude": f"{place.longitude:.4f}",
            "timezone": place.zone or "auto",
            "start_date": first.isoformat(),
            "end_date": last.isoformat(),
            "current": ",".join(CURRENT),
            "daily": ",".join(DAILY),
            **({"hourly": ",".join(HOURLY)} if first == last else {}),
            **(_IMPERIAL if units == "imperial" else {}),
        }
        return await self._get(f"{_root(self._addresses.forecast)}/v1/forecast", wanted)

    async def _get(self, url: str, wanted: Mapping[str, str]) -> Mapping[str, Any]:
        now, key = self._clock(), (url, *wanted.values())
        at, kept = self._kept.get(key, (0.0, None))
        if kept is not None and 0 <= now - at < KEPT_SECONDS:
            return kept
        status, body = await self._fetch(url, wanted)
        document = _document(body)
        if status == 429:
            raise ToolFailed(f"The weather service has had too many requests. {_LATER}")
        if status == 400:
            raise ToolFailed(f"The weather service refused the request: {text_of(document.get('reason'))}.")
        if status != 200:
            raise ToolFailed(f"The weather service answered with an error (HTTP {status}). {_LATER}")
        if not document:
            raise _garbled()
        self._kept[key] = now, document
        return document

    async def _fetch(self, url: str, wanted: Mapping[str, str]) -> tuple[int, bytes]:
        """The status and the body, uncompressed, so that its size is known."""
        body = bytearray()
        try:
            async with asyncio.timeout(SECONDS):
                client = await asyncio.to_thread(_client, self._addresses.https_proxy)
                async with client, client.stream("GET", url, params=wanted) as response:
                    if response.headers.get("content-encoding", "identity") != "identity":
                        raise _garbled()
                    async for piece in response.aiter_raw():
                        body += piece
                        if len(body) > MAX_BYTES:
                            raise _garbled()
                return response.status_code, bytes(body)
        except TimeoutError:
            raise ToolFailed(f"The weather service did not answer within {SECONDS:.0f} s. {_LATER}") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise ToolFailed(f"The weather service can't be reached. {_LATER}") from None


def _client(proxy: str | None) -> httpx.AsyncClient:
    """Loads certificates, so call it in a thread."""
    mounts = {"https://": httpx.AsyncHTTPTransport(proxy=proxy)} if proxy else None
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    return httpx.AsyncClient(headers=headers, mounts=mounts, timeout=None, trust_env=False)


def _root(address: str) -> str:
    return address.rstrip("/").removesuffix("/v1")


def _document(body: bytes) -> Mapping[str, Any]:
    """The JSON object; empty if it is not one."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _place(given: object) -> Place | None:
    """A place from an answer; None without a name and coordinates."""
    each: Mapping[str, Any] = given if isinstance(given, dict) else {}
    name = text_of(each.get("name"))
    latitude, longitude = number_of(each.get("latitude")), number_of(each.get("longitude"))
    if not name or latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return None
    regions = (text_of(each.get(key)) for key in ("admin3", "admin2", "admin1", "country"))
    return Place(
        name,
        latitude,
        longitude,
        tuple(dict.fromkeys(region for region in regions if region)),
        text_of(each.get("country_code")),
        text_of(each.get("timezone")),
    )


def text_of(given: object) -> str:
    """A short text on one line; empty for other values."""
    if not isinstance(given, str):
        return ""
    return "".join(sign for sign in " ".join(given[:MAX_TEXT].split()) if sign.isprintable())


def number_of(given: object) -> float | None:
    """A finite number; None for other values."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not -1e12 < given < 1e12:
        return None
    return given


def _garbled() -> ToolFailed:
    return ToolFailed(f"The weather service sent something other than weather. {_LATER}")
