"""Interface between the chat platforms and the rest of the bot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from routing.errors import TierbotError
from routing.ports import LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage

Accept = Callable[[Sequence[InboundMessage]], Awaitable[None]]
"""Makes messages durable. After it returns, they may be acknowledged to the platform."""


KeepPlaceholder = Callable[[str], Awaitable[None]]
"""Stores the id of a preview message, so that a restarted bot continues in that message."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One piece of a reply has arrived as message `message_id`; `last` marks the last piece."""

    message_id: str
    last: bool


@dataclass(slots=True)
class Progress:
    """State of a connection, for /status and the watchdog. Times are in seconds of the platform's clock.

    A step is anything the receiving loop has completed, even a failed request. Without a step for 150 s the watchdog
    restarts the process (`bot/ops/systemd.py`), so a platform without a loop sets `last_step` to infinity. `problem` is
    empty if there is no problem.
    """

    up_since: float = 0.0
    last_step: float = 0.0
    last_update: float = 0.0
    problem: str = ""


class SendFailed(TierbotError):
    """A reply did not arrive. `reason` is a clause for owners."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SendLater(SendFailed):
    """Try again after `seconds`, or with backoff if None. `maybe_sent`: the reply may have arrived. `protected`: the
    platform discards a copy that is sent soon."""

    def __init__(
        self, reason: str, seconds: float | None = None, maybe_sent: bool = False, protected: bool = False
    ) -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.maybe_sent = maybe_sent
        self.protected = protected


class SendRefused(SendFailed):
    """The reply can't be delivered: the chat is gone, or the bot is blocked there."""


class Platform(Protocol):
    """A chat platform. It passes messages to the `Accept` it was built with."""

    name: str
    progress: Progress

    @property
    def max_file_bytes(self) -> int:
        """The largest file that the platform takes from the bot."""

    async def start(self) -> None:
        """Connect and start receiving. Raises ConfigError if the token is refused."""

    async def stop_receiving(self) -> None:
        """Stop receiving; sending continues."""

    async def close(self) -> None:
        """Close all connections and tasks."""

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        """Send a reply from piece `first_piece` on, yielding one Sent per piece. `recovered`: the first of them may
        have arrived before, so it is marked as a possible copy. Buttons carry `outbox_id`. Raises SendLater or
        SendRefused."""

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        """The live reply shown before the answer. `placeholder` is the id of a preview message to continue in."""

    async def waiting(self, message: InboundMessage) -> None:
        """Mark a message as waiting for another turn to end; best effort."""

    async def fetch(self, attachment: Attachment) -> bytes:
        """Download a file. Raises Refused if it is too large or deleted."""
