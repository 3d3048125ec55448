"""The chat platforms: a new one is a folder in `bot/adapters` and one line here."""

from __future__ import annotations

from bot.adapters.discord.descriptor import DiscordSettings
from bot.adapters.shared.descriptor import PlatformDescriptor
from bot.adapters.telegram.descriptor import TelegramSettings


class PlatformSettings(
    TelegramSettings,
    DiscordSettings,
):
    """The settings of every platform; each base class has the DESCRIPTOR of its platform."""


PLATFORMS: tuple[PlatformDescriptor, ...] = tuple(vars(base)["DESCRIPTOR"] for base in PlatformSettings.__bases__)
