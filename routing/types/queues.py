"""Messages and replies in the durable queues."""

from __future__ import annotations

from dataclasses import dataclass

from routing.types.messages import InboundMessage, OutboundMessage
from routing.types.turns import TurnSettings


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A durable message on its way to an answer; `attempts` counts the turns begun for it. `fixed` is what a question
    is answered with whatever was set since; None: what holds when its turn begins."""

    id: int
    message: InboundMessage
    attempts: int
    placeholder: str
    fixed: TurnSettings | None = None


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A durable reply, of which `pieces_sent` pieces have arrived. `ambiguous`: attempts at the next piece that may
    have arrived, too; in the state "attempting" there may be one more."""

    id: int
    message: OutboundMessage
    state: str
    attempts: int
    pieces_sent: int
    ambiguous: int
    not_before: float
    message_id: str
    created_at: float
