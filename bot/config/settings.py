"""All environment variables with their descriptions. `bot/config/environment.py` reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr

from bot.platforms import PlatformSettings
from handlers.access.rate_limit import parse_limits
from handlers.access.roles import AccessMode
from handlers.http.addresses import PrivateHosts
from routing.config.runtime import parse_pool
from routing.errors import ConfigError
from routing.ports import MediaKind
from routing.tools.embedding.backend import read_backend
from routing.types.messages import CHAT_ID_PREFIX, UserKey
from routing.types.tiers import TIERS, Tier

POOL = re.compile("TIER_[A-Z]+_POOL")
"""Variables that name the models of a tier, which may be unknown."""
_SECRET_TYPE = SecretStr | None
MIN_TOKEN_CHARACTERS = 16
MIN_PASSPHRASE_CHARACTERS = 12


class Settings(PlatformSettings):
    """Environment variables, which can also be set in the workspace's `.env` and in files of secrets."""

    ollama_host: str = Field("127.0.0.1:11434", description="Where Ollama listens, in any form that Ollama accepts.")
    workspace: Path = Field(Path("workspace"), description="Everything the bot owns.")
    database_url: str = Field("", description="SQLite or PostgreSQL; empty: tierbot.db in the workspace.")
    bot_access: AccessMode = Field("pairing", description="Who may use the bot: pairing, allowlist or open.")
    bot_owners: str = Field("", description="Owners' accounts, such as telegram:123.")
    user_rate_limit: str = Field("20/minute,100/hour", description="Messages a person may send; off for no limit.")
    bot_model_selection_allowed_providers: str = Field(
        "", description="Providers for /model; empty: openai, anthropic and every configured one."
    )
    tier_balanced_pool: str = Field("", description="Models of the balanced tier, in order, comma-separated.")
    tier_smart_pool: str = Field("", description="Models of the smart tier.")
    tier_coding_pool: str = Field("", description="Models of the coding tier.")
    tier_deep_pool: str = Field("", description="Models of the deep tier.")
    transcription_model: str = Field(
        "",
        description="Models for voice messages, in order; off for none; empty: those of the configured providers.",
    )
    speech_model: str = Field(
        "", description="Models that speak, in order; off for none; empty: those of the configured providers."
    )
    speech_voice: str = Field("alloy", description="Voice of SPEECH_MODEL, by the provider's name for it.")
    image_model: str = Field(
        "", description="Models that make pictures, in order; off for none; empty: those of the configured providers."
    )
    web_search: Literal["auto", "searxng", "brave", "tavily", "ddgs", "off"] = Field(
        "auto", description="Search engine of web_search; auto: every configured one in turn, then ddgs without a key."
    )
    searxng_url: str = Field("", description="Your SearXNG, with JSON among its formats.")
    brave_api_key: SecretStr | None = Field(None, description="Key of the Brave Search API.")
    brave_api_root: str = Field("https://api.search.brave.com", description="Brave Search API root.")
    tavily_api_key: SecretStr | None = Field(None, description="Key of Tavily.")
    tavily_api_root: str = Field("https://api.tavily.com", description="Tavily's API root.")
    duckduckgo_url: str = Field("", description="DuckDuckGo's HTML search; empty: its own, and others if it fails.")
    web_private_hosts: str = Field(
        "", description="Private hosts and networks that fetch_page may read, such as wiki.intranet,10.7.0.0/16."
    )
    embeddings: str = Field(
        "static",
        description="Encoder that matches tools: static, off, e5, sentence-transformers:<model> or litellm:<model>.",
    )
    embeddings_wait_seconds: float | None = Field(
        None,
        gt=0,
        le=10,
        description="How long a message waits for vectors; empty: 0.05 static, 1 litellm, otherwise 0.5.",
    )
    pip_index_url: str = Field(
        "https://pypi.org/simple", description="Index from which pip_install takes packages; off: none."
    )
    shared_folder: str = Field("", description="Folder of this machine that owners exchange files with; empty: none.")
    weather_api_root: str = Field("https://api.open-meteo.com", description="Open-Meteo's API for forecasts.")
    geocoding_api_root: str = Field(
        "", description="Open-Meteo's API for place names; empty: the public one, or your own WEATHER_API_ROOT."
    )
    retention_days: int | None = Field(
        None, ge=1, description="Days after which messages, turns and usage are deleted; empty: never."
    )
    backup_every_hours: float = Field(24.0, ge=0, le=8760, description="Hours between two backups; 0: none.")
    backup_keep: int = Field(7, ge=1, le=1000, description="Number of scheduled backups to keep.")
    backup_passphrase: SecretStr | None = Field(
        None, description="Encrypts backups, and sends the scheduled ones to the owner; at least 12 characters."
    )
    schedules_per_person: int = Field(100, ge=0, le=10_000, description="Reminders and tasks a person may have.")
    schedule_shortest_minutes: int = Field(
        5, ge=1, description="Minimum time between two occurrences of a reminder or task; 1 for owners."
    )
    tierbot_mcp_token: SecretStr | None = Field(
        None, description="Token for clients of tierbot mcp --http, at least 16 characters."
    )
    secrets_key: SecretStr | None = Field(
        None, description="Key that encrypts the passwords of connected accounts; empty: secrets.key in the workspace."
    )
    account_hosts: str = Field(
        "", description="Servers that everyone may connect, also in private networks or without TLS; comma-separated."
    )
    admin_address: str = Field(
        "127.0.0.1:8787", description="Where health, metrics and the admin page are served; off for nowhere."
    )
    admin_token: SecretStr | None = Field(
        None, description="Token for the admin page, at least 16 characters; empty: admin.token in the workspace."
    )
    admin_url: str = Field(
        "", description="Address of the admin page behind a proxy, for the links of /admin; empty: ADMIN_ADDRESS."
    )
    otel_exporter_otlp_endpoint: str = Field(
        "", description="OpenTelemetry collector that gets traces over HTTP; empty: none."
    )
    otel_exporter_otlp_headers: SecretStr | None = Field(
        None, description="Headers for the collector, such as authorization=Bearer abc."
    )
    heartbeat_file: Path | None = Field(None, description="Touched every 10 s while all is well; for health checks.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Log level.")
    log_format: Literal["text", "json"] = Field("text", description="text, or json for a log collector.")

    @property
    def database(self) -> str:
        """URL of the database."""
        return self.database_url or f"sqlite:///{self.workspace / 'tierbot.db'}"

    @property
    def geocoding(self) -> str:
        """Base address for place names: a server of one's own usually has both APIs."""
        public = Settings.model_fields["weather_api_root"].default
        own = "" if self.weather_api_root == public else self.weather_api_root
        return self.geocoding_api_root or own or "https://geocoding-api.open-meteo.com"

    @property
    def owners(self) -> tuple[UserKey, ...]:
        """BOT_OWNERS, parsed. Raises ConfigError for an account without a platform."""
        return _owners(self.bot_owners)

    @property
    def admin(self) -> tuple[str, int] | None:
        """Host and port of ADMIN_ADDRESS; None for off."""
        return _listen_address(self.admin_address)

    @property
    def admin_root(self) -> str | None:
        """Address of the admin page, as people open it; None if it is off."""
        if self.admin is None:
            return None
        if self.admin_url:
            return self.admin_url.rstrip("/")
        host, port = self.admin
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def hosts(self) -> frozenset[str]:
        """ACCOUNT_HOSTS, parsed."""
        return frozenset(filter(None, map(str.strip, self.account_hosts.lower().split(","))))

    @property
    def pools(self) -> dict[Tier, tuple[str, ...]]:
        """Model pools of the tiers that have one. Raises ConfigError for a model without a provider."""
        pools = {tier: _pool(tier, getattr(self, f"tier_{tier}_pool")) for tier in TIERS}
        return {tier: pool for tier, pool in pools.items() if pool}

    @property
    def visible(self) -> Mapping[str, str]:
        """The variables of VISIBLE."""
        values = ((name, getattr(self, name)) for name in type(self).model_fields if name in VISIBLE)
        return {name.upper(): "" if value is None else str(value) for name, value in values}

    @property
    def media_models(self) -> Mapping[MediaKind, str]:
        """The setting for each kind of media."""
        return {
            "audio_transcription": self.transcription_model,
            "audio_speech": self.speech_model,
            "image_generation": self.image_model,
        }


SECRET_FIELDS = frozenset(name for name, field in Settings.model_fields.items() if field.annotation == _SECRET_TYPE)
"""Settings that are tokens, keys or passphrases."""
LIVE = frozenset(
    {
        *(f"tier_{tier}_pool" for tier in TIERS),
        *(
            "bot_model_selection_allowed_providers",
            "transcription_model",
            "speech_model",
            "speech_voice",
            "image_model",
        ),
        *("web_search", "web_private_hosts"),
        "shared_folder",
        *("searxng_url", "brave_api_key", "brave_api_root", "tavily_api_key", "tavily_api_root", "duckduckgo_url"),
    }
)
"""Settings that take effect on reload, besides the keys."""
VISIBLE = frozenset(
    {
        *("bot_access", "user_rate_limit", "schedules_per_person", "schedule_shortest_minutes", "retention_days"),
        *("transcription_model", "speech_model", "speech_voice", "image_model", "embeddings", "web_search"),
        *("backup_every_hours", "backup_keep"),
        *("bot_model_selection_allowed_providers", "discord_threads", "log_level"),
    }
)
"""Settings whose values a model may tell an owner: no secrets, addresses or paths, and no accounts of people."""


def pool_variable(tier: Tier) -> str:
    """The variable that names the models of a tier."""
    return f"TIER_{tier.upper()}_POOL"


def _owners(text: str) -> tuple[UserKey, ...]:
    accounts = []
    for number, item in enumerate(parse_pool(text), 1):
        platform, colon, user_id = item.partition(":")
        if not (platform and colon and user_id.isascii() and user_id.removeprefix(CHAT_ID_PREFIX).isdigit()):
            words = "BOT_OWNERS must look like telegram:123,discord:456; entry {number} does not."
            raise ConfigError(words, number=number)
        accounts.append(UserKey(platform.lower(), user_id))
    return tuple(accounts)


def _pool(tier: Tier, text: str) -> tuple[str, ...]:
    pool = parse_pool(text)
    wrong = next((number for number, model in enumerate(pool, 1) if "/" not in model), None)
    if wrong:
        words = "{name} must list models as provider/model; entry {number} has no provider."
        raise ConfigError(words, name=pool_variable(tier), number=wrong)
    return pool


def _listen_address(text: str) -> tuple[str, int] | None:
    """Host and port; None for off. Raises ConfigError."""
    if text == "off":
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ConfigError("ADMIN_ADDRESS must look like 127.0.0.1:8787, or be off.")
    return host.strip("[]") or "127.0.0.1", int(port)


def parse_headers(text: str) -> dict[str, str]:
    """HTTP headers as `name=value,name=value`, by lower-case name. Raises ConfigError."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise ConfigError("OTEL_EXPORTER_OTLP_HEADERS must look like name=value,name=value.")
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _index(text: str) -> None:
    """Raises ConfigError unless this is off or an HTTP address."""
    if text != "off" and not text.startswith(("http://", "https://")):
        raise ConfigError("PIP_INDEX_URL must begin with http:// or https://, or be off.")


def _address(name: str, text: str) -> None:
    """Raises ConfigError unless this is an HTTP address or empty."""
    if text and not text.startswith(("http://", "https://")):
        raise ConfigError("{name} must begin with http:// or https://.", name=name)


def _long(name: str, shortest: int, secret: SecretStr | None) -> None:
    """Raises ConfigError for a secret that can be guessed."""
    if secret is not None and len(secret.get_secret_value()) < shortest:
        raise ConfigError("{name} must have at least {count} characters.", name=name, count=shortest)


CUSTOM_SYNTAX: Mapping[str, Callable[[Any], object]] = {
    "user_rate_limit": parse_limits,
    "embeddings": read_backend,
    "bot_owners": _owners,
    "web_private_hosts": PrivateHosts.parse,
    "pip_index_url": _index,
    "admin_address": _listen_address,
    "admin_token": partial(_long, "ADMIN_TOKEN", MIN_TOKEN_CHARACTERS),
    "backup_passphrase": partial(_long, "BACKUP_PASSPHRASE", MIN_PASSPHRASE_CHARACTERS),
    **{f"tier_{tier}_pool": partial(_pool, tier) for tier in TIERS},
    "otel_exporter_otlp_headers": lambda text: parse_headers(text.get_secret_value() if text else ""),
    **{
        name: partial(_address, name.upper())
        for name in (
            *("weather_api_root", "geocoding_api_root", "otel_exporter_otlp_endpoint", "admin_url"),
            *("searxng_url", "duckduckgo_url", "brave_api_root", "tavily_api_root"),
        )
    },
}
"""Settings with their own syntax, validated at start."""
