"""Discord: the gateway and the API through discord.py."""

from bot.adapters.discord.options import DiscordOptions, Pace
from bot.adapters.discord.platform import DiscordPlatform

__all__ = ["DiscordOptions", "DiscordPlatform", "Pace"]
