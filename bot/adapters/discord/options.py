"""Options of the Discord platform and its timing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.adapters.shared.pace import CommonPace
from routing.errors import ConfigError

OFFICIAL_ROOT = "https://discord.com/api/v10"
OFFICIAL_GATEWAY = "wss://gateway.discord.gg/"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Pace(CommonPace):
    """All in seconds. Discord allows five edits or new messages in five seconds per channel, shows typing for ten
    seconds, acknowledges a heartbeat about every 41 seconds, and allows 1000 sessions a day, so a refused token
    (`revoked`) is tried again less than once a minute."""

    revoked: float = 100.0
    identify_gap: float = 5.0
    silence: float = 60.0
    typing_every: float = 8.0
    edit_gap: float = 1.2


@dataclass(frozen=True, slots=True)
class DiscordOptions:
    """See the DISCORD_… settings. `api_root` includes the version.

    Raises ConfigError for a value that can't work.
    """

    token: str = field(repr=False)
    api_root: str = OFFICIAL_ROOT
    gateway_url: str = OFFICIAL_GATEWAY
    proxy: str | None = field(default=None, repr=False)
    sharded: bool = False
    thread_per_mention: bool = False
    pace: Pace = Pace()

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.token):
            raise ConfigError(
                "DISCORD_BOT_TOKEN does not look like a token; copy it whole from the Discord developer portal "
                "(Bot, Reset Token): three parts separated by dots."
            )
        if not self.api_root.startswith(("http://", "https://")):
            raise ConfigError(f"DISCORD_API_ROOT must begin with http:// or https://, not {self.api_root!r}.")
        if not self.gateway_url.startswith(("ws://", "wss://")):
            raise ConfigError(f"DISCORD_GATEWAY_URL must begin with ws:// or wss://, not {self.gateway_url!r}.")
        if self.proxy and not self.proxy.startswith(("http://", "https://")):
            raise ConfigError("DISCORD_PROXY cannot be used; write http://host:port.")
