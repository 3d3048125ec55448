"""The chat platforms. To add one, add a folder to `bot/adapters` and a line at the end here: without any,
the doctor warns at the first."""

from __future__ import annotations

from bot.adapters.discord.descriptor import Discord
from bot.adapters.shared.descriptor import PlatformDescriptor
from bot.adapters.telegram.descriptor import Telegram


class PlatformSettings(
    Telegram,
    Discord,
):
    """Settings of all platforms. Each base class has its platform's DESCRIPTOR."""


PLATFORMS: tuple[PlatformDescriptor, ...] = tuple(vars(base)["DESCRIPTOR"] for base in PlatformSettings.__bases__)
