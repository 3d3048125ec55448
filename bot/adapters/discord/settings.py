"""Discord's settings and timing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import Field, SecretStr

from bot.adapters.shared.descriptor import CommonPace, CommonSettings, check_address, proxy_for, secret
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


class DiscordSettings(CommonSettings):
    """The DISCORD_… variables."""

    discord_bot_token: SecretStr | None = Field(None, description="The Discord bot's token, from the developer portal.")
    discord_api_root: str = Field(OFFICIAL_ROOT, description="Discord's API root, with its version.")
    discord_gateway_url: str = Field(OFFICIAL_GATEWAY, description="Discord's gateway.")
    discord_proxy: str | None = Field(None, description="Proxy for Discord only, http://.")
    discord_sharded: bool = Field(False, description="Open as many gateway connections as Discord recommends.")
    discord_threads: bool = Field(False, description="Answer each mention in its own thread.")

    def discord_proxy_used(self) -> str | None:
        """The proxy for Discord's address; None for a server on this machine."""
        return proxy_for(self.discord_api_root, self.discord_proxy, self.https_proxy)

    def check_discord(self) -> None:
        """Raises ConfigError for a value that can't work."""
        if not _TOKEN.fullmatch(secret(self.discord_bot_token)):
            raise ConfigError(
                "DISCORD_BOT_TOKEN does not look like a token; copy it whole from the Discord developer portal "
                "(Bot, Reset Token): three parts separated by dots."
            )
        check_address("DISCORD_API_ROOT", self.discord_api_root, "http://", "https://")
        check_address("DISCORD_GATEWAY_URL", self.discord_gateway_url, "ws://", "wss://")
        if not (self.discord_proxy or self.https_proxy or "http://").startswith(("http://", "https://")):
            raise ConfigError("DISCORD_PROXY cannot be used; write http://host:port.")
