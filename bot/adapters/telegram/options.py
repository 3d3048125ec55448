"""Options of the Telegram platform and its timing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.adapters.shared.pace import CommonPace
from routing.errors import ConfigError

OFFICIAL_ROOT = "https://api.telegram.org"
_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")


@dataclass(frozen=True, slots=True)
class Pace(CommonPace):
    """All in seconds. Gaps between previews and the life of drafts are from the Bot API documentation and FAQ."""

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


@dataclass(frozen=True, slots=True)
class TelegramOptions:
    """See the TELEGRAM_… settings. `api_root` is without /bot<token>; without a `webhook_secret` each start makes one.

    Raises ConfigError for a value that can't work.
    """

    token: str = field(repr=False)
    api_root: str = OFFICIAL_ROOT
    proxy: str | None = field(default=None, repr=False)
    flood_limit: str = "30/s,1/s per chat,20/min per group"
    webhook_url: str | None = None
    webhook_listen: str = "127.0.0.1:8443"
    webhook_secret: str = field(default="", repr=False)
    pace: Pace = Pace()

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.token):
            raise ConfigError(
                "TELEGRAM_BOT_TOKEN does not look like a token; copy it whole from @BotFather (123456:ABC…)."
            )
        if not self.api_root.startswith(("http://", "https://")):
            raise ConfigError(f"TELEGRAM_API_ROOT must begin with http:// or https://, not {self.api_root!r}.")
        if not _SECRET.fullmatch(self.webhook_secret):
            raise ConfigError("TELEGRAM_WEBHOOK_SECRET may hold only letters, digits, _ and -, at most 256.")
