"""Messages and replies in the durable queues."""

from __future__ import annotations

from dataclasses import dataclass

from routing.types.messages import InboundMessage, OutboundMessage
from routing.types.turns import TurnSettings


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A stored message that waits for an answer; `attempts` counts its turns so far. `fixed` are the settings to answer
    it with; None: the current ones. `held`: this process handles it."""

    id: int
    message: InboundMessage
    attempts: int
    placeholder: str
    fixed: TurnSettings | None = None
    held: bool = True


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A stored reply, of which `pieces_sent` pieces have been delivered. `ambiguous` counts attempts at the next piece
    that may have been delivered; in the state "attempting" there may be one more. "begun": the store has the attempt
    that is about to start. `held`: this process sends it."""

    id: int
    message: OutboundMessage
    state: str
    attempts: int
    pieces_sent: int
    ambiguous: int
    not_before: float
    message_id: str
    created_at: float
    held: bool = True


@dataclass(frozen=True, slots=True)
class Claimed:
    """What waits in claimed chats."""

    messages: tuple[InboxEntry, ...] = ()
    replies: tuple[OutboxEntry, ...] = ()
