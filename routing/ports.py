"""Every Protocol of the product: what `routing` needs from the outside, and what `storage` and `bot` implement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

from routing.types.budgets import PersonLimits
from routing.types.confirmation import ActionState, Allowance, PendingAction
from routing.types.history import Conversation, StoredMessage, Summary, TurnRecord
from routing.types.llm import ModelRequest, ProviderProfile, StreamEvent, ToolCall, Transcript
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage, UserKey
from routing.types.people import Account, Adoption, Override, Pairing, Person, PersonSettings, Preferences, Role
from routing.types.periods import Period
from routing.types.prices import Price
from routing.types.queues import InboxEntry, OutboxEntry
from routing.types.skills import Skills
from routing.types.tiers import Tier, TierChoice
from routing.types.toolkits import Toolkit
from routing.types.tools import ToolScope, Traits
from routing.types.turns import Switches, TurnSettings
from routing.types.usage import Day, Payer, PersonSpending, Rating, Spending, Spent, TierSpending, Trouble, TurnReport
from routing.types.vectors import Floats, Vectors


class SpendingStore(Protocol):
    """What was spent, added up."""

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        """One for each, in their order."""

    async def by_person(self, since: float = 0.0) -> tuple[PersonSpending, ...]:
        """Everyone who used something, the dearest first."""

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        """In the order of the tiers, those that were used."""

    async def by_day(self, days: Sequence[Period], person_id: int | None = None) -> tuple[Day, ...]:
        """Every day asked for, also those without any use."""


class BudgetStore(Protocol):
    """What the owner set for single people."""

    async def everyone(self) -> Mapping[int, PersonLimits]:
        """By person; those for whom nothing was set are left out."""

    async def set(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        """Both limits anew; audited. Empty ones take them away."""


class TurnStore(Protocol):
    """How turns went, from the facts that the ledger keeps."""

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        """What the person whose turn it was thinks of the answer; None takes it back. False: there is no such turn."""

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TurnReport, ...]:
        """In the order of the tiers, councils last; models by their turns. Of one person, or of everyone."""

    async def newest(self, limit: int) -> Trouble:
        """Of the newest turns, whosever; councils are none."""


class OwnerFiles(Protocol):
    """What the owner may change while the bot runs."""

    def instructions(self) -> str:
        """SYSTEM.md; empty when there is none."""

    def skills(self) -> Skills:
        """What the bot was taught."""


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


class Ledger(Protocol):
    """The one transaction that ends a turn."""

    async def finish(
        self, inbox_ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord | None = None
    ) -> tuple[OutboxEntry, ...]:
        """Mark the messages answered, keep the history and the usage, queue the replies: all or nothing. The queued
        replies, to be sent."""


class UsageStore(Protocol):
    """What was spent."""

    async def by_model(
        self, *, person_id: int | None = None, conversation_id: int | None = None, since: float = 0.0
    ) -> tuple[Spending, ...]:
        """One row a model, most calls first."""

    async def seconds(self, model: str, limit: int) -> tuple[float, ...]:
        """How long the model took, over its newest `limit` calls."""


class Encoder(Protocol):
    """Anything that makes vectors; `name` says which, so that stored vectors of another are not mixed with its."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text, all zero for a text without a known word. May block."""


class Link(Protocol):
    """How a platform is doing; times are Unix seconds, 0 for never."""

    up_since: float
    last_update: float
    trouble: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The process at one moment. `failures` are (model, reason, at), newest first."""

    version: str
    started_at: float
    now: float
    memory_bytes: int
    revision: str
    database_bytes: int
    running: int
    queued: int
    pending: int
    dead: int
    links: tuple[tuple[str, Link], ...]
    failures: tuple[tuple[str, str, float], ...]


class Health(Protocol):
    """Whoever can gather the facts."""

    async def facts(self) -> Facts: ...


class PriceList(Protocol):
    """Where prices are looked up."""

    def __call__(self, model: str, /) -> Price | None:
        """The price of `provider/model`; None when nobody knows it."""


class AudioPrices(Protocol):
    """Where the prices of transcription are looked up."""

    def a_second(self, model: str) -> Decimal | None:
        """US dollars for a second of audio; None for an unknown price."""


class EmbeddingModel(Protocol):
    """The door to every model, as far as vectors are concerned."""

    async def embed(self, model: str, profile: ProviderProfile, texts: Sequence[str]) -> Vectors:
        """What the provider makes of the texts, in their order; none of them is blank. Raises ModelError."""


class Embedder(Protocol):
    """Anything that makes vectors. A cancelled call leaves it as it was."""

    @property
    def name(self) -> str:
        """Stored vectors are kept under it; it changes when the weights do."""

    async def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text, all zero for a text without a known word; no texts are no rows. Raises
        EmbedderFailed."""

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """The same, in the calling thread; None where they have to be waited for."""

    async def close(self) -> None:
        """Give everything back. Afterwards `embed` raises EmbedderFailed."""


class Clock(Protocol):
    """Unix seconds; injected so that stories can move time. Dates and what the database keeps come from the system's
    clock; waits, deadlines and pauses from a steady one (`routing.types.deadline`)."""

    def __call__(self) -> float: ...


class Llm(Protocol):
    """The door to every model."""

    async def ready(self) -> None:
        """The library is there: what waits for it is no fault of a model."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Answer `request` piece by piece; the last event is a StreamEnd. Raises ModelError before it."""

    async def knows(self, model: str) -> bool:
        """Whether `provider/model` is in the library's bundled map of models."""

    async def transcribe(self, model: str, profile: ProviderProfile, name: str, audio: bytes) -> Transcript:
        """The words of a voice message. Raises ModelError."""


class LiveReply(Protocol):
    """What a person sees before the final text: best effort, never an error."""

    async def working(self) -> None:
        """Show that an answer is being made."""

    def show(self, text: str) -> None:
        """The answer so far, in Markdown; returns at once."""

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """A pressed button was taken; one that is `spent` disappears, with those beside it."""

    async def close(self) -> str:
        """Stop; the id of a message that the final text should replace, or empty."""


class Tools(Protocol):
    """What runs the tools that a model calls."""

    def traits(self, name: str) -> Traits:
        """How a tool may be run; unknown names have the plainest."""

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        """The result for the model. Raises ToolFailed; BadArguments when it was not called as its schema says. Ends in
        time: a tool has a limit of its own."""


class Toolbox(Tools, Protocol):
    """The tools that there are."""

    def toolkits(self) -> tuple[Toolkit, ...]:
        """All, whoever may use them; the same tuple until one of them is another."""

    async def offered(self, person: Person) -> tuple[Toolkit, ...]:
        """What this person's role permits and this machine can run, in a stable order."""


class RatingStore(Protocol):
    """Finds the turn that is meant, for as long as its answer is kept in the outbox."""

    async def turn_of(self, chat: ChatKey, message_id: str) -> str | None:
        """The turn whose answer, or a part of it, this message of a chat shows; None for any other message."""

    async def newest(self, chat: ChatKey, person_id: int) -> str | None:
        """The turn of the newest answer that this person had in this chat; None when there is none."""

    async def take_back(self, turn_id: str, person_id: int, rating: Rating) -> bool:
        """This rating by the person whose turn it was, if it is the one that stands, is none any more."""


class PreferenceStore(Protocol):
    """A person's tier, lock and models, and what /settings keeps."""

    async def get(self, person_id: int) -> Preferences: ...
    async def set_tier(self, person_id: int, tier: TierChoice | None, force: bool) -> None:
        """None: the person has no choice of their own any more."""

    async def set_override(self, person_id: int, tier: Tier, override: Override) -> None: ...
    async def clear_override(self, person_id: int, tier: Tier) -> bool:
        """Remove it; False when there was none."""

    async def settings(self, person_id: int) -> PersonSettings: ...
    async def set_settings(self, person_id: int, settings: PersonSettings) -> None: ...


class PeopleStore(Protocol):
    """Who is known, with which role; strangers who wait; every change on record."""

    async def find(self, user: UserKey) -> Person | None: ...
    async def admit(self, user: UserKey, name: str, role: Role, actor: str) -> Person:
        """Make them known, or change the role they have; audited."""

    async def everyone(self) -> tuple[tuple[Person, tuple[UserKey, ...]], ...]: ...
    async def owners(self) -> tuple[UserKey, ...]: ...
    async def forget(self, person_id: int, actor: str) -> None:
        """Delete a person with all that is kept of them; audited."""

    async def shorten(self, seconds: float) -> None:
        """Let no stored code, for pairing or linking, be valid for longer: the system clock may have been set back."""

    async def seen(self, user: UserKey, name: str, username: str) -> None:
        """Keep the username of a known account, and the name of a person who has none yet."""

    async def usernames(self) -> Mapping[UserKey, str]:
        """Of the known accounts that have one."""

    async def ask(self, pairing: Pairing, waiting_limit: int) -> Pairing:
        """Keep a pairing request; when too many wait, the oldest is dropped. A request that still waits takes the new
        code and the messages, and comes back with the time at which its code expires. `pairing` itself comes back when
        the request is new, or its code had expired."""

    async def waiting(self) -> tuple[Pairing, ...]: ...
    async def approve(self, asked: str | UserKey, actor: str) -> Pairing | None:
        """Admit the stranger with this code or this account; None for a wrong or expired code, or without a request."""

    async def burn(self, code: str) -> UserKey | None:
        """Let a code expire, and keep the request; whose it was, None for one that was not valid."""

    async def let_in(self) -> tuple[Pairing, ...]:
        """The requests of people who have been let in, and whose messages wait for an answer."""

    async def release(self, user: UserKey) -> None:
        """Forget a request: it has been dealt with."""

    async def audit(self, actor: str, action: str, detail: str) -> None: ...
    async def journal(self, limit: int) -> tuple[tuple[float, str, str, str], ...]:
        """(at, actor, action, detail), newest first."""


class LinkStore(Protocol):
    """Which accounts are one person's; the codes that join them, one a person."""

    async def offer(self, person_id: int, code: str, seconds: float) -> None:
        """Keep a code, valid for so long; it replaces an earlier one."""

    async def find(self, code: str) -> Person | None:
        """Whose code it is, while it is valid."""

    async def burn(self, code: str) -> bool:
        """Make a code worthless; False when it was."""

    async def join(
        self, code: str, user: UserKey, actor: str, notices: Sequence[OutboundMessage] = ()
    ) -> tuple[OutboxEntry, ...]:
        """The account becomes one of theirs, with all that was kept of its person; the code is used up, the notices
        are queued. Audited."""

    async def part(
        self, person_id: int, user: UserKey, actor: str, notices: Sequence[OutboundMessage] = ()
    ) -> tuple[OutboxEntry, ...]:
        """The account is a stranger's again, and the person's code worthless; audited."""

    async def accounts(self, person_id: int) -> tuple[Account, ...]:
        """The oldest first."""

    async def adoptions(self) -> tuple[Adoption, ...]: ...
    async def adopted(self, adoption: Adoption) -> None:
        """It is done."""


class ActionStore(Protocol):
    """Tool calls that wait for their person's confirmation."""

    async def add(self, action: PendingAction) -> PendingAction:
        """Keep it; the same with its id."""

    async def get(self, action_id: int) -> PendingAction | None: ...
    async def claim(self, action_id: int, state: Literal["running", "cancelled"], press: str) -> bool:
        """A press decides what becomes of a waiting action; False when it no longer waits, or has expired."""

    async def end(self, action_id: int, state: ActionState, result: str = "") -> None:
        """What came of one that ran."""

    async def sweep(self, before: float) -> None:
        """Forget those that expired before then."""


class AllowanceStore(Protocol):
    """Tools that run without a confirmation."""

    async def of(self, person_id: int) -> tuple[Allowance, ...]:
        """This person's, and those for everybody."""

    async def allow(self, person_id: int, allowance: Allowance) -> None: ...
    async def revoke(self, person_id: int, tool: str, everybody: bool) -> bool:
        """Take back what this person allowed themselves, with `everybody` also what anybody allowed all; False when
        there was nothing."""


class ChatStore(Protocol):
    """What holds for a whole chat."""

    async def streaming(self, chat: ChatKey) -> bool: ...
    async def set_streaming(self, chat: ChatKey, on: bool) -> None: ...
    async def allowed(self, chat: ChatKey) -> bool: ...
    async def set_allowed(self, chat: ChatKey, allowed: bool, actor: str) -> None: ...
    async def moved(self, old: ChatKey, new_chat_id: str) -> None:
        """A group became a supergroup: everything kept under its old id goes on under the new one."""


class KnownChats(Protocol):
    """Where the bot is spoken to."""

    async def known(self, platform: str, since: float) -> tuple[ChatKey, ...]:
        """The chats in which somebody had an answer since then or waits for one, and those that an owner allowed."""


EDIT_KEY = "edit of person {person_id}"
"""Of the state: the last edit of a message by somebody."""


class StateStore(Protocol):
    """Small facts of the process that outlive it."""

    async def get(self, key: str) -> str | None: ...
    async def put(self, key: str, value: str | None) -> None: ...


class InboxStore(Protocol):
    """Messages are written here before the platform hears that they arrived."""

    async def accept(self, messages: Sequence[InboundMessage]) -> tuple[InboxEntry, ...]:
        """Keep them; those already known are left out of the answer."""

    async def set_aside(self) -> int:
        """Leave out what can't be read from now on; how many messages."""

    async def unfinished(self) -> tuple[InboxEntry, ...]:
        """What an earlier process left unanswered, in order."""

    async def begin(self, inbox_ids: Sequence[int]) -> None:
        """A turn starts: count the attempt."""

    async def placeholder(self, inbox_id: int, message_id: str) -> None:
        """Remember the half-streamed message, so that a restart goes on in it."""

    async def fix(self, settings: Mapping[int, TurnSettings]) -> None:
        """Keep what these messages, by inbox id, are to be answered with."""

    async def sweep(self, before: float) -> None:
        """Forget answered messages older than `before`."""


class OutboxStore(Protocol):
    """Replies wait here until the platform has them."""

    async def set_aside(self) -> int:
        """Leave out what can't be read from now on; how many replies."""

    async def unsent(self) -> tuple[OutboxEntry, ...]:
        """Pending and attempting replies, in order: what an earlier process left."""

    async def get(self, outbox_id: int) -> OutboxEntry | None: ...
    async def attempting(self, outbox_id: int) -> None:
        """Note that an attempt begins. One that a dead process left behind counts as ambiguous."""

    async def piece_sent(self, outbox_id: int, pieces: int, message_id: str) -> None:
        """A piece has arrived; the next one is not ambiguous yet."""

    async def sent(self, outbox_id: int, message_id: str) -> None: ...
    async def again(self, outbox_id: int, not_before: float, ambiguous: int, error: str) -> None:
        """An attempt failed; `ambiguous` is the new count."""

    async def dead(self, outbox_id: int, error: str) -> None: ...
    async def add(self, messages: Sequence[OutboundMessage]) -> tuple[OutboxEntry, ...]:
        """Queue notices that answer no message, to be sent."""

    async def counts(self) -> dict[str, int]:
        """How many replies are in each unfinished state."""

    async def sweep(self, before: float) -> None: ...


class VectorStore(Protocol):
    """Vectors by the encoder that made them and the hash of their text: rows of little-endian float32, as bytes.

    What is given out is what was kept, byte for byte; whoever asks checks the length, for a row of another length is no
    vector of theirs. All methods raise StorageFault: the vectors are then made anew, and nothing else is lost.
    """

    async def get(self, encoder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Those that are kept, by hash; the others are not in it."""

    async def put(self, encoder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep them all, or none when it fails; the newest of a hash counts."""

    async def keep(self, encoder: str, hashes: Collection[str]) -> int:
        """Forget what other encoders made, and texts that are not among these; how many. In small steps: when it fails
        half-way, the next call goes on."""
