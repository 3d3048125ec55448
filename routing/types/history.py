"""What a conversation leaves behind: its messages, its summaries, what it cost; and what keeps that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from routing.types.decisions import TierSource
from routing.types.llm import ChatMessage, Speaker, ToolCall
from routing.types.messages import Attachment, ChatKey
from routing.types.tiers import Tier
from routing.types.usage import CallRecord

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
    before, of the messages up to `covers`, and what came between is left out of the prompt. `reader` is the id of the
    only person who may read it, because it holds what tools gave to them; 0: everybody in the conversation."""

    upto: int
    text: str
    covers: int
    reason: str = ""
    number: int = 1
    reader: int = 0

    def text_for(self, person_id: int) -> str:
        """What this person's model is told of it; empty if it is another person's."""
        return self.text if self.reader in (0, person_id) else ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stretch of talk in one chat, from one /new to the next."""

    id: int
    chat: ChatKey
    started_at: float
    messages: int = 0
    title: str = ""


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
