"""What built-in tools get from the settings."""

from __future__ import annotations

from bot.adapters.shared.descriptor import secret
from bot.config.settings import Settings
from handlers.http.addresses import PrivateHosts
from handlers.tools.dependencies import WeatherAddresses, WebSettings
from handlers.tools.packages import PackageIndex


def weather_addresses(settings: Settings) -> WeatherAddresses:
    """Where the weather comes from."""
    return WeatherAddresses(settings.weather_api_root, settings.geocoding, settings.https_proxy)


def web_settings(settings: Settings) -> WebSettings:
    """How the web is searched and read."""
    return WebSettings(
        engine=settings.web_search,
        searxng_url=settings.searxng_url,
        brave_root=settings.brave_api_root,
        brave_key=secret(settings.brave_api_key),
        tavily_root=settings.tavily_api_root,
        tavily_key=secret(settings.tavily_api_key),
        duckduckgo_url=settings.duckduckgo_url,
        private_hosts=PrivateHosts.parse(settings.web_private_hosts),
        proxy=settings.https_proxy,
    )


def package_index(settings: Settings) -> PackageIndex:
    """Where Python packages come from."""
    return PackageIndex(settings.pip_index_url, settings.https_proxy)
