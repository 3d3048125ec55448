"""What built-in tools get from the settings."""

from __future__ import annotations

from bot.settings import Settings
from handlers.tools.dependencies import WeatherAddresses


def weather_addresses(settings: Settings) -> WeatherAddresses:
    """Where the weather comes from."""
    return WeatherAddresses(settings.weather_api_root, settings.geocoding, settings.https_proxy)
