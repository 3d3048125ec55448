"""Telegram: the Bot API through python-telegram-bot's `Bot`, polled or by webhook."""

from bot.adapters.telegram.options import Pace, TelegramOptions
from bot.adapters.telegram.platform import TelegramPlatform

__all__ = ["Pace", "TelegramOptions", "TelegramPlatform"]
