"""What a conversation leaves behind: its messages, its summaries, what it cost; and what keeps that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from routing.calls import ChatMessage, Speaker, ToolCall
from routing.decisions import TierSource
from routing.outcome import CallRecord
from routing.stores import OutboxEntry
from routing.types import Attachment, ChatKey, OutboundMessage, Switches, Tier

SOMEBODY_ELSES = "[what this tool gave to another person stays theirs]"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of a conversation's history; `pictures` are the attachments that were shown to the model, `source`
    is the platform's id of a person's message, `person_id` whose turn it belongs to, `turn_id` which. The rest is as in
    ChatMessage; `model` wrote an assistant's."""

    id: int
    role: Speaker
    text: str
    at: float
    pictures: tuple[Attachment, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    thinking: str = ""
    call_id: str = ""
    tool: str = ""
    source: str = ""
    person_id: int = 0
    turn_id: str = ""


def for_person(message: StoredMessage, person_id: int) -> StoredMessage:
    """A message as this person may have it: what tools were given by another one, and gave to them, stays theirs."""
    if message.person_id in (0, person_id) or not (message.calls or message.role == "tool"):
        return message
    if message.role == "tool":
        return replace(message, text=SOMEBODY_ELSES)
    return replace(message, calls=tuple(replace(call, arguments="{}") for call in message.calls))


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands for the messages up to id `upto`. With a `reason` it could not be written: `text` is the summary
    before, of the messages up to `covers`, and what came between is left out of the prompt."""

    upto: int
    text: str
    covers: int
    reason: str = ""
    number: int = 1


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stretch of talk in one chat, from one /new to the next."""

    id: int
    chat: ChatKey
    started_at: float
    messages: int = 0
    title: str = ""


class HistoryStore(Protocol):
    """Conversations, their messages, and what was set in them."""

    async def current(self, chat: ChatKey) -> Conversation:
        """The conversation going on in a chat; begun if there is none."""

    async def messages(
        self, conversation_id: int, limit: int, before: int | None = None, after: int = 0
    ) -> tuple[tuple[StoredMessage, ...], int]:
        """The newest `limit` messages (older than id `before`, newer than id `after`), oldest first, and how many there
        are in all."""

    async def last_question(self, conversation_id: int) -> StoredMessage | None:
        """The newest message of a person."""

    async def tiers(self, conversation_id: int, limit: int, before: int | None = None) -> tuple[Tier, ...]:
        """Which tiers served the newest questions (older than message id `before`), the newest last."""

    async def begin(self, chat: ChatKey) -> Conversation:
        """End the current conversation and begin another."""

    async def recent(self, chat: ChatKey, limit: int) -> tuple[Conversation, ...]:
        """The chat's conversations that hold messages, newest first."""

    async def resume(self, conversation: Conversation) -> None:
        """Go on with an older conversation."""

    async def unsummarised(
        self, conversation_id: int, limit: int, before: int | None = None
    ) -> tuple[Summary | None, tuple[StoredMessage, ...], int]:
        """The newest summary; the messages behind it (the newest `limit`, older than id `before`), oldest first; and
        how many there are."""

    async def summarise(self, conversation_id: int, summary: Summary) -> None:
        """Let a summary stand for the older messages, which are kept."""

    async def summary(self, conversation_id: int) -> Summary | None:
        """The newest summary; its `number` counts them."""

    async def shorten(self, conversation_id: int, most_chars: int) -> None:
        """Cut every message above `most_chars` characters (an overflow that the provider reported)."""

    async def switches(self, conversation_id: int) -> Switches: ...
    async def set_conversation_tier(self, conversation_id: int, tier: Tier | None) -> None: ...
    async def set_skill(self, conversation_id: int, skill: str) -> None:
        """Make a skill active; an empty name ends it."""


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """How a turn went. `model` answered (empty: none did), those that `failed` did so before it; `fallback`: it was not
    the first that should have; `escalated`: the turn went up a tier. Seconds are of the whole turn; those to the first
    token are None when none came. What it cost, the calls say."""

    tier: Tier
    source: TierSource
    model: str
    seconds: float
    first_token_seconds: float | None = None
    failed: tuple[str, ...] = ()
    fallback: bool = False
    timed_out: bool = False
    escalated: bool = False


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What a turn leaves behind: the question, everything said after it (nothing, when no model answered), every call
    to a model, how it went. `source` is the platform's id of the question; messages from id `replaces_from` on are
    superseded (a retry)."""

    turn_id: str
    conversation_id: int
    person_id: int
    question: str
    pictures: tuple[Attachment, ...] = ()
    said: tuple[ChatMessage, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    source: str = ""
    replaces_from: int | None = None
    facts: TurnFacts | None = None


class Ledger(Protocol):
    """The one transaction that ends a turn."""

    async def finish(
        self, inbox_ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord | None = None
    ) -> tuple[OutboxEntry, ...]:
        """Mark the messages answered, keep the history and the usage, queue the replies: all or nothing. The queued
        replies, to be sent."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and money over a stretch; `unknown` counts the calls whose price nobody knows."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: Decimal
    unknown: int


class UsageStore(Protocol):
    """What was spent."""

    async def by_model(
        self, *, person_id: int | None = None, conversation_id: int | None = None, since: float = 0.0
    ) -> tuple[Spending, ...]:
        """One row a model, most calls first."""

    async def seconds(self, model: str, limit: int) -> tuple[float, ...]:
        """How long the model took, over its newest `limit` calls."""
