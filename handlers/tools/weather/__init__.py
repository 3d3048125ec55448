"""The toolkit `weather`: current weather and forecasts from Open-Meteo."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.weather.days import Days, find_days
from handlers.tools.weather.open_meteo import OpenMeteo, Units
from handlers.tools.weather.places import find_place
from handlers.tools.weather.report import describe_weather
from handlers.tools.weather.us_zones import US_ZONES
from routing.ports import Clock
from routing.types.tools import ToolScope, Traits

NAME = "weather"


def build(dependencies: ToolDependencies) -> Tools:
    return tools_of(WeatherTools(OpenMeteo(dependencies.weather, dependencies.clock), dependencies.clock))


class WeatherTools:
    """Needs no key and no account. Days are those of the place."""

    def __init__(self, service: OpenMeteo, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    @tool(role="guest", traits=Traits(seconds=40.0))
    async def get_weather(
        self,
        scope: ToolScope,
        location: str,
        date: str = "",
        days: int = 1,
        units: Literal["metric", "imperial"] | None = None,
    ) -> str:
        """One day hour by hour, or up to 16 days. Raises ToolFailed for an unknown place or day, and if the service
        does not answer."""
        found = await find_place(self._service, location, scope.language)
        wanted = await asyncio.to_thread(self._days, date, days, found.place.zone or scope.time_zone)
        answer = await self._service.forecast(found.place, wanted.first, wanted.last, units or usual_units(scope))
        return describe_weather(found, wanted, answer)

    def _days(self, date: str, days: int, zone: str) -> Days:
        """Blocks: it reads the zone's file, and may import dateparser."""
        now = datetime.fromtimestamp(self._clock(), UTC)
        with suppress(KeyError, ValueError, OSError):  # an unknown zone
            now = now.astimezone(ZoneInfo(zone))
        return find_days(date, days, now.date())


def usual_units(scope: ToolScope) -> Units:
    """Imperial for people who speak English and live in a time zone of the United States; metric for others."""
    english = scope.language.lower().split("-")[0] in ("", "en")
    return "imperial" if english and scope.time_zone in US_ZONES else "metric"
