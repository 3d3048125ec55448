"""Telegram's descriptor: settings, factory, doctor check."""

from __future__ import annotations

import secrets
from typing import ClassVar

from pydantic import Field, SecretStr

from bot.adapters.shared.descriptor import CheckContext, CommonSettings, PlatformDescriptor, Services, secret
from bot.adapters.telegram.options import OFFICIAL_ROOT, TelegramOptions
from bot.ops.checks.finding import Finding
from bot.platform import Platform


def _build(settings: TelegramSettings, services: Services) -> Platform:
    from bot.adapters.telegram.platform import TelegramPlatform

    return TelegramPlatform(settings.telegram_options(), services)


async def _check(settings: TelegramSettings, context: CheckContext) -> list[Finding]:
    from bot.adapters.telegram.doctor import check

    return await check(settings.telegram_options(), context)


class TelegramSettings(CommonSettings):
    """The TELEGRAM_… variables."""

    DESCRIPTOR: ClassVar = PlatformDescriptor(
        "telegram", "Telegram", "telegram_bot_token", "Get a token from @BotFather", _build, _check
    )

    telegram_bot_token: SecretStr | None = Field(None, description="The Telegram bot's token, from @BotFather.")
    telegram_api_root: str = Field(OFFICIAL_ROOT, description="Bot API root, without /bot<token>.")
    telegram_flood_limit: str = Field(
        "30/s,1/s per chat,20/min per group",
        description="What Telegram allows; off with a Bot API server of your own.",
    )
    telegram_proxy: str | None = Field(None, description="Proxy for Telegram only, http:// or socks5://.")
    telegram_webhook_url: str | None = Field(None, description="Public https address; set: webhook instead of polling.")
    telegram_webhook_listen: str = Field("127.0.0.1:8443", description="Where the webhook listens, behind your proxy.")
    telegram_webhook_secret: SecretStr | None = Field(None, description="Secret of the webhook; generated when empty.")

    def telegram_options(self) -> TelegramOptions:
        """Raises ConfigError for an invalid value."""
        return TelegramOptions(
            token=secret(self.telegram_bot_token),
            api_root=self.telegram_api_root,
            proxy=self.telegram_proxy or self.https_proxy,
            flood_limit=self.telegram_flood_limit,
            webhook_url=self.telegram_webhook_url,
            webhook_listen=self.telegram_webhook_listen,
            webhook_secret=secret(self.telegram_webhook_secret) or secrets.token_urlsafe(32),
        )
