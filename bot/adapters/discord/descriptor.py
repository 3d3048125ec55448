"""Discord's descriptor: settings, factory, doctor check."""

from __future__ import annotations

from typing import ClassVar

from bot.adapters.discord.settings import DiscordSettings, Pace
from bot.adapters.shared.descriptor import BotAccount, CheckContext, PlatformDescriptor, Services
from bot.findings import Finding
from bot.platform import Platform
from routing.lean_imports import without_collection

STEPS = (
    "Open https://discord.com/developers/applications, create an application, and under Bot turn on Message Content "
    "Intent and copy the token (Reset Token)."
)


def _build(settings: DiscordSettings, services: Services) -> Platform:
    with without_collection():
        from bot.adapters.discord.platform import DiscordPlatform

    return DiscordPlatform(settings, services, Pace())


async def _check(settings: DiscordSettings, context: CheckContext) -> list[Finding]:
    from bot.adapters.discord.doctor import check

    return await check(settings, context)


async def _identify(settings: DiscordSettings, seconds: float) -> BotAccount:
    from bot.adapters.discord.doctor import identify

    return await identify(settings, seconds)


class Discord(DiscordSettings):
    """The DISCORD_… variables and what they switch on."""

    DESCRIPTOR: ClassVar = PlatformDescriptor(
        "discord",
        "Discord",
        "discord_bot_token",
        STEPS,
        _build,
        _check,
        _identify,
    )
