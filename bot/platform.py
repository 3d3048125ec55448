"""What a chat platform is to the rest of the bot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from routing.errors import TierbotError
from routing.ports import LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage

Accept = Callable[[Sequence[InboundMessage]], Awaitable[None]]
"""Keeps messages durably; once it has returned they may be acknowledged to the platform."""


KeepPlaceholder = Callable[[str], Awaitable[None]]
"""Makes the id of a half-streamed message durable, so that a restart goes on in it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One piece of a reply has arrived as message `message_id`; `last` when nothing is left."""

    message_id: str
    last: bool


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One command in a platform's menu; `summary` by language code, "en" always among them."""

    name: str
    summary: dict[str, str]


@dataclass(slots=True)
class Progress:
    """How a platform is doing, for /status and the watchdog; times are Unix seconds. A step is anything the receiving
    loop finished, a failed request as well; a contact is one that the platform answered."""

    up_since: float = 0.0
    last_step: float = 0.0
    last_contact: float = 0.0
    last_update: float = 0.0
    trouble: str = ""


class SendFailed(TierbotError):
    """A reply did not arrive."""


class SendLater(SendFailed):
    """Try again after `seconds`, or after a pause that grows with each failure. `maybe_sent`: the request had left, so
    the reply may be there already. `protected`: the platform won't show it twice when it is sent again soon."""

    def __init__(
        self, reason: str, seconds: float | None = None, maybe_sent: bool = False, protected: bool = False
    ) -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.maybe_sent = maybe_sent
        self.protected = protected


class SendRefused(SendFailed):
    """It can never arrive: the chat is gone or the bot is blocked there."""


class Platform(Protocol):
    """One platform, from its start to its end; it hands its messages to the `Accept` it was built with."""

    name: str
    progress: Progress

    async def start(self) -> None:
        """Connect and begin to receive. Raises ConfigError for a token that the platform refuses."""

    async def stop_receiving(self) -> None:
        """Take nothing new; sending goes on."""

    async def close(self) -> None:
        """Let go of every connection and task."""

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        """Send what is left of a reply, from piece `first_piece` on; one Sent after each piece. `recovered` marks
        it as perhaps a repetition. Raises SendLater or SendRefused. Buttons carry `outbox_id` and their place."""

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        """What the person sees before the answer; `placeholder` is a half-streamed message to go on in."""

    async def waiting(self, message: InboundMessage) -> None:
        """Show that a message waits behind a running turn; best effort."""

    async def fetch(self, attachment: Attachment) -> bytes:
        """The bytes of a file. Raises Refused when it is too large or gone."""
