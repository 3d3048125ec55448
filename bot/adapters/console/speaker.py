"""The person at the terminal, their lines as messages, and the interface of prompt and pipe."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from bot.adapters.console.printable import one_line, printable
from handlers.languages import Say
from routing.errors import StorageFault
from routing.ports import Clock, LiveReply
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage, UserKey

PLATFORM = "console"
BOT_NAME = "tierbot"

Take = Callable[[InboundMessage], Awaitable[None]]
"""Makes a message durable or raises."""

Unanswered = Callable[[InboundMessage], Awaitable[None]]
"""Returns only when it is certain that a message gets no reply."""

Chosen = Callable[[], Awaitable[str]]
"""The language that the person chose; empty if none. Raises StorageFault."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ConsoleUser:
    """The person at the terminal. `locale` is the language of the terminal, `chosen` the one set with `/settings`."""

    name: str
    clock: Clock
    locale: str = ""
    chosen: Chosen | None = None
    say: Say = field(init=False)

    def __post_init__(self) -> None:
        self.say = Say(self.locale)

    async def listen(self) -> None:
        """Speak the language that the person has chosen by now."""
        if self.chosen is not None:
            with suppress(StorageFault):
                self.say = Say(await self.chosen() or self.locale)

    def says(self, text: str) -> InboundMessage:
        """A line as a message; its id is the `reply_to` of the reply."""
        key = uuid4().hex
        return InboundMessage(
            user=UserKey(PLATFORM, self.name),
            chat=ChatKey(PLATFORM, self.name),
            bot_id=PLATFORM,
            update_id=key,
            text=printable(text),
            sent_at=self.clock(),
            user_name=self.name,
            language=self.locale,
            bot_name=BOT_NAME,
            message_id=key,
        )


class ConsoleInterface(Protocol):
    """Interface of prompt and pipe."""

    async def run(self) -> int:
        """Take lines until the input ends; returns the exit code."""

    async def say(self, message: OutboundMessage, recovered: bool) -> None:
        """Print a reply. Raises OSError if the output is closed."""

    def live(self, message: InboundMessage, streaming: bool) -> LiveReply:
        """What is shown before the reply."""

    async def waiting(self, message: InboundMessage) -> None:
        """Show that a message waits."""

    def stop(self) -> None:
        """Make `run` return; replies are still printed."""

    def close(self) -> None:
        """Stop the threads."""


def body(message: OutboundMessage, recovered: bool, say: Say) -> str:
    """The Markdown of a reply, safe to print."""
    text = printable(message.text).strip("\n")
    return f"{say('(recovered)')}\n{text}" if recovered else text


def not_saved_notice(error: StorageFault, say: Say) -> str:
    """A sentence about a line that could not be saved."""
    reason = one_line(say(error.reason), 200).rstrip(".")
    return say("Your message could not be saved ({reason}). Please send it again.", reason=reason)


def exit_hint(line: str, say: Say) -> str:
    """The answer to a mistyped /exit or /quit."""
    words = "There is no command /{name}. Did you mean /{nearest}? /help lists them all."
    return say(words, name=one_line(line[1:]), nearest="exit")
