"""The terminal as a chat platform: a conversation at a prompt, or one line in, one reply out through a pipe."""

from bot.adapters.console.hints import CommandHint, PromptOptions
from bot.adapters.console.platform import ConsolePlatform
from bot.adapters.console.speaker import ConsoleUser, Unanswered
from bot.adapters.console.streams import Streams

__all__ = ["CommandHint", "ConsolePlatform", "ConsoleUser", "PromptOptions", "Streams", "Unanswered"]
