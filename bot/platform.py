"""The interface between the chat platforms and the rest of the bot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from routing.errors import TierbotError
from routing.ports import LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage

Accept = Callable[[Sequence[InboundMessage]], Awaitable[None]]
"""Makes messages durable; after it returns they may be acknowledged to the platform."""


KeepPlaceholder = Callable[[str], Awaitable[None]]
"""Stores the id of a preview message, so that a restart continues in it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One piece of a reply has arrived as message `message_id`; `last` if it was the last one."""

    message_id: str
    last: bool


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One command in a platform's menu; `summary` by language code, "en" always among them."""

    name: str
    summary: dict[str, str]


@dataclass(slots=True)
class Progress:
    """The state of a connection, for /status and the watchdog; times are in seconds of the platform's clock.

    A step is anything that the receiving loop has finished, even a failed request; a contact is a step that the
    platform answered. `trouble` is empty if all is well.
    """

    up_since: float = 0.0
    last_step: float = 0.0
    last_contact: float = 0.0
    last_update: float = 0.0
    trouble: str = ""


class SendFailed(TierbotError):
    """A reply did not arrive."""


class SendLater(SendFailed):
    """Try again after `seconds`, or after a pause that grows with each failure. `maybe_sent`: the reply may have
    arrived. `protected`: the platform does not show it twice if it is sent again soon."""

    def __init__(
        self, reason: str, seconds: float | None = None, maybe_sent: bool = False, protected: bool = False
    ) -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.maybe_sent = maybe_sent
        self.protected = protected


class SendRefused(SendFailed):
    """It can't be delivered: the chat is gone or the bot is blocked there."""


class Platform(Protocol):
    """One chat platform; it hands its messages to the `Accept` it was built with."""

    name: str
    progress: Progress

    async def start(self) -> None:
        """Connect and begin to receive. Raises ConfigError for a refused token."""

    async def stop_receiving(self) -> None:
        """Receive nothing more; sending goes on."""

    async def close(self) -> None:
        """End every connection and task."""

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        """Send a reply from piece `first_piece` on; yields one Sent after each piece. `recovered`: that piece may have
        arrived before, so it is marked. Buttons carry `outbox_id`. Raises SendLater or SendRefused."""

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        """What the person sees before the answer; `placeholder` is the id of a preview message to continue in."""

    async def waiting(self, message: InboundMessage) -> None:
        """Mark a message as waiting for a running turn; best effort."""

    async def fetch(self, attachment: Attachment) -> bytes:
        """The bytes of a file. Raises Refused if it is too large or deleted."""
