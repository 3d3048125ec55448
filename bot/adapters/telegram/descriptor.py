"""Telegram's descriptor: settings, factory, doctor check."""

from __future__ import annotations

from typing import ClassVar

from bot.adapters.shared.descriptor import BotAccount, CheckContext, PlatformDescriptor, Services
from bot.adapters.telegram.settings import Pace, TelegramSettings
from bot.findings import Finding
from bot.platform import Platform
from routing.lean_imports import without_collection

STEPS = "Open https://t.me/BotFather in Telegram, send /newbot, and copy the token that it sends you."


def _build(settings: TelegramSettings, services: Services) -> Platform:
    with without_collection("cryptography"):  # only Telegram Passport needs it
        from bot.adapters.telegram.platform import TelegramPlatform

    return TelegramPlatform(settings, services, Pace())


async def _check(settings: TelegramSettings, context: CheckContext) -> list[Finding]:
    from bot.adapters.telegram.doctor import check

    return await check(settings, context)


async def _identify(settings: TelegramSettings, seconds: float) -> BotAccount:
    from bot.adapters.telegram.doctor import identify

    return await identify(settings, seconds)


class Telegram(TelegramSettings):
    """The TELEGRAM_… variables and what they switch on."""

    DESCRIPTOR: ClassVar = PlatformDescriptor(
        "telegram",
        "Telegram",
        "telegram_bot_token",
        STEPS,
        _build,
        _check,
        _identify,
    )
