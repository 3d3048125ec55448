"""Discord's descriptor: settings, factory, doctor check."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, SecretStr

from bot.adapters.discord.options import OFFICIAL_GATEWAY, OFFICIAL_ROOT, DiscordOptions
from bot.adapters.shared.descriptor import CheckContext, CommonSettings, PlatformDescriptor, Services, secret
from bot.ops.checks.finding import Finding
from bot.platform import Platform


def _build(settings: DiscordSettings, services: Services) -> Platform:
    from bot.adapters.discord.platform import DiscordPlatform

    return DiscordPlatform(settings.discord_options(), services)


async def _check(settings: DiscordSettings, context: CheckContext) -> list[Finding]:
    from bot.adapters.discord.doctor import check

    return await check(settings.discord_options(), context)


class DiscordSettings(CommonSettings):
    """The DISCORD_… variables."""

    DESCRIPTOR: ClassVar = PlatformDescriptor(
        "discord", "Discord", "discord_bot_token", "Get a token from the developer portal", _build, _check
    )

    discord_bot_token: SecretStr | None = Field(None, description="The Discord bot's token, from the developer portal.")
    discord_api_root: str = Field(OFFICIAL_ROOT, description="Discord's API root, with its version.")
    discord_gateway_url: str = Field(OFFICIAL_GATEWAY, description="Discord's gateway.")
    discord_proxy: str | None = Field(None, description="Proxy for Discord only, http://.")
    discord_sharded: bool = Field(False, description="Open as many gateway connections as Discord recommends.")
    discord_threads: bool = Field(False, description="Answer each mention in its own thread.")

    def discord_options(self) -> DiscordOptions:
        """Raises ConfigError for an invalid value."""
        return DiscordOptions(
            token=secret(self.discord_bot_token),
            api_root=self.discord_api_root,
            gateway_url=self.discord_gateway_url,
            proxy=self.discord_proxy or self.https_proxy,
            sharded=self.discord_sharded,
            thread_per_mention=self.discord_threads,
        )
