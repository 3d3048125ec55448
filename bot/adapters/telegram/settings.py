"""Telegram's settings and timing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import Field, SecretStr

from bot.adapters.shared.descriptor import CommonPace, CommonSettings, check_address, proxy_for, secret
from routing.errors import ConfigError

OFFICIAL_ROOT = "https://api.telegram.org"
_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")


@dataclass(frozen=True, slots=True)
class Pace(CommonPace):
    """All in seconds. Gaps between previews and the lifetime of drafts are from the Bot API documentation and FAQ."""

    long_poll: int = 30
    answer: float = 20.0
    connect: float = 10.0
    conflict: float = 10.0
    longest_conflict: float = 60.0
    webhook_check: float = 60.0
    idle_offset: float = 6 * 86400.0
    private_gap: float = 1.0
    group_gap: float = 3.0
    draft_refresh: float = 20.0


class TelegramSettings(CommonSettings):
    """The TELEGRAM_… variables."""

    telegram_bot_token: SecretStr | None = Field(None, description="The Telegram bot's token, from @BotFather.")
    telegram_api_root: str = Field(OFFICIAL_ROOT, description="Bot API root, without /bot<token>.")
    telegram_flood_limit: str = Field(
        "30/s,1/s per chat,20/min per group",
        description="What Telegram allows; off with your own Bot API server.",
    )
    telegram_proxy: str | None = Field(None, description="Proxy for Telegram only, http:// or socks5://.")
    telegram_webhook_url: str | None = Field(
        None, description="Public https address; if set, a webhook replaces polling."
    )
    telegram_webhook_listen: str = Field("127.0.0.1:8443", description="Where the webhook listens, behind your proxy.")
    telegram_webhook_secret: SecretStr | None = Field(None, description="The webhook's secret; generated if empty.")

    def telegram_proxy_used(self) -> str | None:
        """The proxy for Telegram's address; None for a server on this machine."""
        return proxy_for(self.telegram_api_root, self.telegram_proxy, self.https_proxy)

    def check_telegram(self) -> None:
        """Raises ConfigError for a value that can't work."""
        if not _TOKEN.fullmatch(secret(self.telegram_bot_token)):
            raise ConfigError(
                "TELEGRAM_BOT_TOKEN does not look like a token; copy it whole from @BotFather (123456:ABC…)."
            )
        check_address("TELEGRAM_API_ROOT", self.telegram_api_root, "http://", "https://")
        if not _SECRET.fullmatch(secret(self.telegram_webhook_secret)):
            raise ConfigError("TELEGRAM_WEBHOOK_SECRET may hold only letters, digits, _ and -, at most 256.")
