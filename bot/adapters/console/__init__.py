"""The terminal as a chat platform: a conversation at a prompt, or one line in, one reply out through a pipe."""

from bot.adapters.console.hints import CommandHint
from bot.adapters.console.platform import ConsolePlatform, Unanswered

__all__ = ["CommandHint", "ConsolePlatform", "Unanswered"]
