"""Messages, summaries and records of conversations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from routing.types.decisions import TierSource
from routing.types.learning import Lesson
from routing.types.llm import ChatMessage, Speaker, ToolCall
from routing.types.messages import Attachment, ChatKey
from routing.types.tiers import Tier
from routing.types.usage import CallRecord

SOMEBODY_ELSES = "[what this tool gave to another person stays theirs]"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored message. `pictures` are the attachments that were shown to the model, `source` is the platform's id of a
    person's message, `own_words` its text without documents (empty: it had none), `person_id` and `turn_id` identify
    the turn. `model` wrote an assistant's message; the rest is as in ChatMessage."""

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
    own_words: str = ""


def for_person(message: StoredMessage, person_id: int) -> StoredMessage:
    """The message as this person may see it: arguments and results of other people's tool calls are removed."""
    if message.person_id in (0, person_id) or not (message.calls or message.role == "tool"):
        return message
    if message.role == "tool":
        return replace(message, text=SOMEBODY_ELSES)
    return replace(message, calls=tuple(replace(call, arguments="{}") for call in message.calls))


@dataclass(frozen=True, slots=True)
class Summary:
    """Replaces the messages up to id `upto`. If it could not be written, `reason` says why: `text` is then the previous
    summary, which covers messages up to id `covers`, and the ones after that are missing in the prompt. `reader` is the
    id of the only person who may read it, because it contains their tool results; 0: everyone in the conversation."""

    upto: int
    text: str
    covers: int
    reason: str = ""
    number: int = 1
    reader: int = 0

    def text_for(self, person_id: int) -> str:
        """The summary for this person's model; empty if it belongs to someone else."""
        return self.text if self.reader in (0, person_id) else ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in one chat, from one /new to the next."""

    id: int
    chat: ChatKey
    started_at: float
    messages: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """Facts about a turn, for reports. `model` answered (empty: none did) after those in `failed`. `fallback`: it was
    not the first choice. `escalated`: the turn moved to a higher tier. `seconds` is the time of the whole turn;
    `first_token_seconds` is None without any token. The costs are in the calls."""

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
    """Everything to store at the end of a turn: the question, the messages after it (none if no model answered), the
    model calls and the facts. `source` is the platform's id of the question, `own_words` its text without documents
    (empty: it had none). A retry supersedes the messages from id `replaces_from` on. `missed` are the tools that were
    called although they had not been shown."""

    turn_id: str
    conversation_id: int
    person_id: int
    question: str
    pictures: tuple[Attachment, ...] = ()
    messages: tuple[ChatMessage, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    source: str = ""
    replaces_from: int | None = None
    facts: TurnFacts | None = None
    own_words: str = ""
    missed: tuple[Lesson, ...] = ()
