"""All protocols: what `routing` needs from outside, implemented by `storage` and `bot`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Protocol

from routing.errors import Reason
from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.budgets import Period, PersonLimits, Price
from routing.types.decisions import TierSource
from routing.types.directory import ListedPerson, PeopleFilter, PeoplePage
from routing.types.history import Conversation, StoredMessage, Summary, TurnRecord
from routing.types.learning import Example, Signal
from routing.types.llm import (
    ChatMessage,
    GeneratedImage,
    ModelRequest,
    Picture,
    ProviderProfile,
    Recording,
    StreamEvent,
    ToolCall,
    Transcript,
)
from routing.types.memory import Fact
from routing.types.messages import Attachment, ChatKey, InboundMessage, OutboundMessage, OutgoingFile, UserKey
from routing.types.people import (
    Account,
    Adoption,
    AuditEntry,
    Override,
    Pairing,
    Person,
    PersonSettings,
    Preferences,
    Profile,
    Role,
)
from routing.types.queues import Claimed, InboxEntry, OutboxEntry
from routing.types.schedules import Firing, Schedule, ScheduleState
from routing.types.skills import Skills
from routing.types.tiers import Tier, TierChoice
from routing.types.toolkits import Toolkit
from routing.types.tools import ActionState, Allowance, PendingAction, ToolScope, Traits
from routing.types.turns import Switches, TurnSettings
from routing.types.usage import (
    CallRecord,
    Day,
    Payer,
    PersonSpending,
    Rating,
    RecentProblems,
    Spending,
    Spent,
    TierSpending,
    TurnReport,
)
from routing.types.vectors import Floats, Vectors


class SpendingStore(Protocol):
    """Sums of what was spent."""

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        """One sum per payer, in order."""

    async def by_person(self, since: float = 0.0, limit: int | None = None) -> tuple[PersonSpending, ...]:
        """Everyone with any usage, or the first `limit` of them, highest cost first."""

    async def of_people(self, people: Sequence[int], since: float = 0.0) -> Mapping[int, Spending]:
        """What these people used; those without usage are left out."""

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        """Tiers with any usage, in the order of the tiers."""

    async def by_day(self, days: Sequence[Period], person_id: int | None = None) -> tuple[Day, ...]:
        """One entry per requested day, also without usage."""


class BudgetStore(Protocol):
    """Limits that the owner set for single people."""

    async def everyone(self) -> Mapping[int, PersonLimits]:
        """Limits by person; people without their own are left out."""

    async def set(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        """Replace both limits; recorded in the audit log. Empty limits remove them."""


class TurnStore(Protocol):
    """Reports on turns, from the ledger."""

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        """Store the person's rating of their turn; None removes it. False if there is no such turn."""

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TurnReport, ...]:
        """Reports in the order of the tiers, councils last; models by number of turns. For one person, or for
        everyone."""

    async def newest(self, limit: int) -> RecentProblems:
        """Counts over the newest turns of everyone, councils excluded."""


class OwnerFiles(Protocol):
    """Files that the owner may change while the bot runs."""

    def instructions(self) -> str:
        """SYSTEM.md; empty if there is none."""

    def skills(self) -> Skills:
        """The skills of the workspace."""


RECENT_MESSAGES = 1_000
"""How many of a person's newest messages `HistoryStore.of_turns` searches."""


class HistoryStore(Protocol):
    """Conversations, their messages and settings."""

    async def current(self, chat: ChatKey) -> Conversation:
        """The current conversation of a chat; starts one if there is none."""

    async def messages(
        self, conversation_id: int, limit: int, before: int | None = None, after: int = 0
    ) -> tuple[tuple[StoredMessage, ...], int]:
        """The newest `limit` messages (older than id `before`, newer than id `after`), oldest first, and the number of
        all matching ones."""

    async def last_question(self, conversation_id: int) -> StoredMessage | None:
        """The newest message of a person."""

    async def of_turns(self, person_id: int, turn_ids: Collection[str]) -> tuple[StoredMessage, ...]:
        """The questions and answers of these turns of the person, oldest first, without results of tools. Only their
        newest RECENT_MESSAGES messages are searched."""

    async def tier_of(self, turn_id: str, person_id: int) -> tuple[Tier, TierSource] | None:
        """The tier of the person's turn and the rule that chose it; None if there is no such turn."""

    async def tiers(self, conversation_id: int, limit: int, before: int | None = None) -> tuple[Tier, ...]:
        """The tiers of the newest questions (older than message id `before`), newest last."""

    async def begin(self, chat: ChatKey) -> Conversation:
        """End the current conversation and start another."""

    async def recent(self, chat: ChatKey, limit: int) -> tuple[Conversation, ...]:
        """The chat's conversations that have messages, newest first."""

    async def resume(self, conversation: Conversation) -> None:
        """Continue an older conversation."""

    async def unsummarised(
        self, conversation_id: int, limit: int, before: int | None = None
    ) -> tuple[Summary | None, tuple[StoredMessage, ...], int]:
        """The newest summary; the messages after it (the newest `limit`, older than id `before`), oldest first; and the
        number of all of them."""

    async def summarise(self, conversation_id: int, summary: Summary) -> None:
        """Store a summary. The messages it covers are kept."""

    async def summary(self, conversation_id: int) -> Summary | None:
        """The newest summary; `number` counts all of them."""

    async def shorten(self, conversation_id: int, most_chars: int) -> None:
        """Cut every message to `most_chars` characters, after a provider reported an overflow."""

    async def switches(self, conversation_id: int) -> Switches: ...
    async def set_conversation_tier(self, conversation_id: int, tier: Tier | None) -> None: ...
    async def set_skill(self, conversation_id: int, skill: str) -> None:
        """Activate a skill; an empty name deactivates it."""


class Ledger(Protocol):
    """Ends a turn in one transaction."""

    async def finish(
        self, inbox_ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord | None = None
    ) -> tuple[OutboxEntry, ...]:
        """Mark the messages as answered, store history and usage, and queue the replies: all or nothing. Returns the
        queued replies."""


class UsageStore(Protocol):
    """What was spent, by model."""

    async def by_model(
        self, *, person_id: int | None = None, conversation_id: int | None = None, since: float = 0.0
    ) -> tuple[Spending, ...]:
        """One row per model, most calls first."""

    async def seconds(self, model: str, limit: int) -> tuple[float, ...]:
        """The durations of the model's newest `limit` calls; empty if it was not among the last 2,000 of all."""


class Encoder(Protocol):
    """Computes vectors. `name` identifies the model, so that stored vectors of different models don't mix."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 per text; all zero for a text without known words. May block."""


class Link(Protocol):
    """The state of a platform connection; times are Unix seconds, 0 for never."""

    up_since: float
    last_update: float
    problem: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the process at one moment. `failures` are (model, reason, at), newest first. `config_fault` is the
    error in an edited file, while the last valid configuration stays in use."""

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
    config_fault: Reason | None


class Health(Protocol):
    """Collects the facts for /status."""

    async def facts(self) -> Facts: ...


class PriceList(Protocol):
    """Looks up prices."""

    def __call__(self, model: str, /) -> Price | None:
        """The price of `provider/model`; None if unknown."""


class MediaPrices(Protocol):
    """Looks up prices of what is not paid by text tokens."""

    def per_second(self, model: str) -> Decimal | None:
        """US dollars per second of audio; None if unknown."""

    def speech(self, model: str, characters: int, seconds: int | None) -> Decimal | None:
        """US dollars for speaking a text, with the length of the sound if it is known; None if unknown."""

    def picture(self, model: str, image: GeneratedImage | None) -> Decimal | None:
        """US dollars for a picture: expected (None) or with its tokens; None if unknown."""


class EmbeddingModel(Protocol):
    """Calls remote embedding models."""

    async def embed(self, model: str, profile: ProviderProfile, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, in order; no text may be blank. Raises ModelError."""


class Embedder(Protocol):
    """Computes vectors asynchronously. A cancelled call has no effect."""

    @property
    def name(self) -> str:
        """The key of stored vectors; changes with the weights."""

    async def embed(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 per text; all zero for a text without known words; no rows for no texts. Raises
        EmbedderFailed."""

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """Like `embed`, in the calling thread; None if the vectors have to be awaited."""

    async def close(self) -> None:
        """Release all resources. Afterwards `embed` raises EmbedderFailed."""


class Clock(Protocol):
    """Returns Unix seconds; injected so that tests control time. Dates and stored times use the system clock; waits and
    deadlines a steady one (`routing.types.deadline`)."""

    def __call__(self) -> float: ...


class Llm(Protocol):
    """Calls models."""

    async def ready(self) -> None:
        """Wait until the library is loaded; this time is not a model's fault."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer to `request`; the last event is a StreamEnd. Raises ModelError. Closing the generator ends
        the call."""

    async def knows(self, model: str) -> bool:
        """Whether the library's bundled map contains `provider/model`."""


MediaKind = Literal["audio_transcription", "audio_speech", "image_generation"]
"""A kind of model, in LiteLLM's words."""


class MediaLlm(Protocol):
    """Calls models for transcription, speech and images."""

    async def offered(self, kind: MediaKind, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names that the library's bundled map has as models of this kind and that are not retired."""

    async def transcribe(self, model: str, profile: ProviderProfile, recording: Recording) -> Transcript:
        """Transcribe a voice message. Raises ModelError."""

    async def speak(self, model: str, profile: ProviderProfile, text: str, voice: str) -> bytes:
        """Speak a text, as Opus in Ogg if the provider can. Raises ModelError."""

    async def generate_image(self, model: str, profile: ProviderProfile, prompt: str) -> GeneratedImage:
        """Make a picture. Raises ModelError."""


class LocalMedia(Protocol):
    """Models on this machine for transcription and speech."""

    def available(self, kind: MediaKind) -> tuple[str, ...]:
        """The names of the usable ones. Blocks on disk access."""

    async def transcribe(self, model: str, recording: Recording) -> Transcript:
        """Transcribe a voice message. Raises ModelError."""

    async def speak(self, model: str, text: str) -> bytes:
        """Speak a text, as Opus in Ogg. Raises ModelError."""


class AskModel(Protocol):
    """Calls models for a council, without tools. Unwanted calls are cancelled."""

    @property
    def paid_calls(self) -> Sequence[CallRecord]:
        """All calls so far that have to be paid for; cancelled ones have no token count."""

    async def __call__(self, model: str, tier: Tier, messages: tuple[ChatMessage, ...], seconds: float) -> str:
        """Return the model's answer. Raises ModelError, or TimeoutError after `seconds`."""


class FetchPicture(Protocol):
    """Fetches a picture of a message for a model."""

    async def __call__(self, attachment: Attachment, /) -> Picture | None:
        """Return the picture; None if it can't be fetched any more."""


class LiveReply(Protocol):
    """Shows progress before the final text. Best effort; never raises."""

    @property
    def max_file_bytes(self) -> int:
        """The largest file that the platform takes from the bot."""

    async def working(self) -> None:
        """Show that an answer is in progress."""

    def show(self, text: str) -> None:
        """Show the answer so far, as Markdown; returns at once."""

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """Acknowledge a button press; a `spent` button disappears, with those beside it."""

    async def erase(self) -> bool:
        """Delete the person's message, which holds a password; False if only they can do that."""

    async def close(self) -> str:
        """Stop; return the id of the message that the final text should replace, or empty."""


class Tools(Protocol):
    """Runs the tools that a model calls."""

    def traits(self, name: str) -> Traits:
        """How a tool may run; defaults for unknown names."""

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        """Run a call and return the result for the model, within the tool's own time limit. Raises ToolFailed;
        BadArguments if the arguments don't match the schema."""


class Toolbox(Tools, Protocol):
    """The available tools."""

    def toolkits(self) -> tuple[Toolkit, ...]:
        """All toolkits, for any person; the same tuple until one changes."""

    async def offered(self, person: Person) -> tuple[Toolkit, ...]:
        """The toolkits that this person's role permits and this machine can run, in a stable order."""

    async def missing(self, person: Person) -> Mapping[str, str]:
        """The toolkits that need an account which this person has not connected, and what `/connect` calls it."""


class RatingStore(Protocol):
    """Finds the turn to rate, as long as its answer is in the outbox."""

    async def turn_of(self, chat: ChatKey, message_id: str) -> str | None:
        """The turn whose answer, or part of it, is in this message; None for other messages."""

    async def newest(self, chat: ChatKey, person_id: int) -> str | None:
        """The turn of this person's newest answer in this chat; None if there is none."""

    async def take_back(self, turn_id: str, person_id: int, rating: Rating) -> bool:
        """Remove this rating by the person of the turn if it is the current one; whether it was."""


class PreferenceStore(Protocol):
    """A person's tier, lock, models and settings."""

    async def get(self, person_id: int) -> Preferences: ...
    async def set_tier(self, person_id: int, tier: TierChoice | None, force: bool) -> None:
        """Store the tier and the lock; None clears the person's choice."""

    async def set_override(self, person_id: int, tier: Tier, override: Override) -> None: ...
    async def clear_override(self, person_id: int, tier: Tier) -> bool:
        """Remove the override; False if there was none."""

    async def settings(self, person_id: int) -> PersonSettings: ...
    async def set_settings(self, person_id: int, settings: PersonSettings) -> None: ...


class FactStore(Protocol):
    """Facts about each person, at most `MAX_FACTS`."""

    async def of(self, person_id: int) -> tuple[Fact, ...]:
        """The person's facts, oldest first. The same tuple until they change."""

    async def add(self, person_id: int, fact: Fact) -> Fact:
        """Store a fact with the present time; returns it with its id. A fact that is known already (`fact_key`) gets
        the new text, time and source. Raises Refused above MAX_FACTS."""

    async def edit(self, person_id: int, fact_id: int, text: str) -> Fact | None:
        """Let the person change a fact; another one with the new text is deleted. None if it is not theirs."""

    async def pin(self, person_id: int, fact_id: int, pinned: bool) -> Fact | None:
        """Put a fact into every prompt, or no longer; None if it is not theirs."""

    async def delete(self, person_id: int, ids: Collection[int]) -> tuple[Fact, ...]:
        """Delete those of the facts that are the person's; returns them."""


class ExampleStore(Protocol):
    """Examples of each person's use of tools and tiers: at most MAX_EXAMPLES per person, MAX_ALL_EXAMPLES in all."""

    async def of(self, person_id: int) -> tuple[Example, ...]:
        """The person's examples, oldest first. The same tuple until they change."""

    async def add(self, person_id: int, examples: Sequence[Example]) -> None:
        """Store examples with the present time. An example replaces the one of the same turn and lesson; the oldest
        ones above the limits are deleted. Does nothing if the person was forgotten."""

    async def remove(self, person_id: int, turn_id: str, signals: Collection[Signal]) -> None:
        """Delete the examples of a turn with these signals."""

    async def clear(self, person_id: int | None = None) -> int:
        """Delete all examples of a person, or of everyone; returns how many."""


class PeopleStore(Protocol):
    """Known people and their roles, pairing requests, and the audit log."""

    async def find(self, user: UserKey) -> Person | None: ...
    async def admit(self, user: UserKey, name: str, role: Role, actor: str) -> Person:
        """Add a person or change their role; recorded in the audit log."""

    async def admit_sender(self, user: UserKey, profile: Profile, role: Role, actor: str) -> Person:
        """`admit` for the sender of a message that will be answered: stores the profile and deletes their request."""

    async def everyone(
        self, limit: int | None = None, offset: int = 0
    ) -> tuple[tuple[Person, tuple[UserKey, ...]], ...]:
        """People with their accounts, oldest first: all, or `limit` of them after the first `offset`."""

    async def owners(self) -> tuple[UserKey, ...]: ...
    async def forget(self, person_id: int, actor: str) -> None:
        """Delete a person and all their data; recorded in the audit log."""

    async def shorten(self, seconds: float) -> None:
        """Limit the validity of all pairing and linking codes, because the system clock may have been set back."""

    async def seen(self, user: UserKey, profile: Profile) -> Person | None:
        """Store the username and the language of a known account, and the name of a person who has none. An empty
        language changes nothing. Returns the person; None for an unknown account."""

    async def usernames(self, people: Sequence[int] | None = None) -> Mapping[UserKey, str]:
        """The usernames of known accounts that have one: all, or those of the given people."""

    async def ask(self, pairing: Pairing, waiting_limit: int) -> Pairing:
        """Store a pairing request; drops the oldest if too many wait. A request that still waits gets the new code and
        the messages and is returned with the expiry of its code. Returns `pairing` itself if the request is new or its
        code had expired."""

    async def waiting(self) -> tuple[Pairing, ...]: ...
    async def approve(self, asked: str | UserKey, actor: str) -> Pairing | None:
        """Admit the stranger with this code or account; None if the code is wrong or expired, or there is no
        request."""

    async def expire_code(self, code: str) -> UserKey | None:
        """Expire a code but keep the request; returns its user, None if the code was not valid."""

    async def admitted(self) -> tuple[Pairing, ...]:
        """Requests of admitted people whose messages still wait for an answer."""

    async def release(self, user: UserKey) -> None:
        """Delete a request that was handled."""

    async def audit(self, actor: str, action: str, subject: str) -> None: ...
    async def audit_log(self, limit: int) -> tuple[AuditEntry, ...]:
        """The newest audit entries, newest first."""


class PeopleDirectory(Protocol):
    """Lists of people for the admin page."""

    async def page(self, wanted: PeopleFilter, limit: int, offset: int = 0) -> PeoplePage:
        """Up to `limit` of the people that match, newest first, after the first `offset`."""

    async def get(self, person_id: int) -> ListedPerson | None: ...
    async def roles(self) -> Mapping[Role, int]:
        """The number of people by role."""

    async def connected(self) -> Mapping[str, int]:
        """The number of connected accounts by kind."""


class LinkStore(Protocol):
    """The accounts of each person, and the codes to link them, one per person."""

    async def offer(self, person_id: int, code: str, seconds: float) -> None:
        """Store a code that is valid for `seconds`; replaces an earlier one."""

    async def find(self, code: str) -> Person | None:
        """The person of a valid code."""

    async def expire_code(self, code: str) -> bool:
        """Invalidate a code; False if it was not valid."""

    async def join(
        self, code: str, user: UserKey, actor: str, notices: Sequence[OutboundMessage] = ()
    ) -> tuple[OutboxEntry, ...]:
        """Add the account to the person of the code, with all data of its previous person; use up the code and queue
        the notices. Recorded in the audit log."""

    async def unlink(
        self, person_id: int, user: UserKey, actor: str, notices: Sequence[OutboundMessage] = ()
    ) -> tuple[OutboxEntry, ...]:
        """Make the account a stranger's again and invalidate the person's code; recorded in the audit log."""

    async def accounts(self, person_id: int) -> tuple[Account, ...]:
        """The person's accounts, oldest first."""

    async def adoptions(self) -> tuple[Adoption, ...]: ...
    async def adopted(self, adoption: Adoption) -> None:
        """Mark an adoption as done."""


class ActionStore(Protocol):
    """Tool calls that wait for a confirmation."""

    async def add(self, action: PendingAction) -> PendingAction:
        """Store an action; returns it with its id."""

    async def get(self, action_id: int) -> PendingAction | None: ...
    async def claim(self, action_id: int, state: Literal["running", "cancelled"], press: str) -> bool:
        """Let a button press run or cancel a waiting action; False if it no longer waits or has expired."""

    async def end(
        self, action_id: int, state: ActionState, result: str = "", files: Sequence[OutgoingFile] = ()
    ) -> tuple[OutgoingFile, ...]:
        """Store the result of an action that ran, and the files to send with it. Returns them as stored."""

    async def sweep(self, before: float) -> None:
        """Delete actions that expired before `before`."""


class AllowanceStore(Protocol):
    """Tools that run without confirmation."""

    async def of(self, person_id: int) -> tuple[Allowance, ...]:
        """This person's allowances, and those for everyone."""

    async def allow(self, person_id: int, allowance: Allowance) -> None: ...
    async def revoke(self, person_id: int, tool: str, everybody: bool) -> bool:
        """Remove this person's allowance, with `everybody` also those for everyone; False if there was none."""


class ServiceAccountStore(Protocol):
    """Accounts with other services that people have connected, and the conversations that connect them."""

    async def of(self, person_id: int) -> tuple[ServiceAccount, ...]:
        """A person's accounts, oldest first."""

    async def put(self, account: ServiceAccount) -> None:
        """Store an account; replaces the person's other one of this kind and label."""

    async def connect(self, account: ServiceAccount, step: ConnectStep, alone: bool) -> None:
        """Store an account and delete the step that led to it, in one transaction. `alone`: also delete the person's
        other accounts of this kind."""

    async def remove(self, person_id: int, kind: str, label: str | None = None) -> int:
        """Delete a person's accounts of a kind (with this label); returns how many."""

    async def steps(self) -> Mapping[tuple[ChatKey, UserKey], ConnectStep]:
        """All unfinished steps, also expired ones, by chat and account."""

    async def set_step(self, step: ConnectStep) -> None:
        """Store a step; replaces the account's other one in this chat."""

    async def end_step(self, step: ConnectStep) -> None:
        """Delete the account's step in this chat."""

    async def sweep(self, before: float) -> None:
        """Delete steps that expired before `before`."""

    async def hint(self, person_id: int, kinds: Sequence[str], since: float) -> tuple[str, ...]:
        """Note that the person is told about `/connect` for these kinds; returns those that they were not told about
        since `since`."""


class SecretBox(Protocol):
    """Encrypts texts with a key that is not in the database."""

    async def seal(self, text: str) -> str:
        """The encrypted text. Raises SecretUnreadable if the key can't be used."""

    async def reveal(self, sealed: str) -> str:
        """The text. Raises SecretUnreadable if the key is another one, or can't be used."""


class ScheduleStore(Protocol):
    """Reminders and scheduled prompts. A schedule of another person is not found by its id."""

    async def add(self, schedule: Schedule, most: int) -> Schedule | None:
        """Store a schedule; returns it with its id, or an equal one for nearly the same time. None if the person has
        `most` already."""

    async def of(self, person_id: int) -> tuple[Schedule, ...]:
        """The person's schedules, the next one first."""

    async def get(self, person_id: int, schedule_id: int) -> Schedule | None: ...
    async def remove(self, person_id: int, schedule_id: int) -> bool:
        """Delete a schedule; False if there is none."""

    async def set_state(self, person_id: int, schedule_id: int, state: ScheduleState, next_at: float) -> bool:
        """Pause or resume a schedule, and forget its failures; False if there is none."""

    async def move(self, person_id: int, zone: str, times: Mapping[int, float]) -> None:
        """Set the time zone and the next time of these schedules, by id."""

    async def next_at(self, platforms: Collection[str]) -> float | None:
        """The next time of any active schedule on these platforms; None if there is none."""

    async def due(self, platforms: Collection[str], now: float, most: int) -> tuple[Schedule, ...]:
        """The first `most` active schedules whose time has come, in order."""

    async def fire(self, firings: Sequence[Firing]) -> tuple[tuple[OutboxEntry, ...], tuple[InboxEntry, ...]]:
        """Advance or delete these schedules and queue their replies and messages, in one transaction. Skips schedules
        that changed since they were read."""

    async def ended(self, schedule_id: int, failed: bool, most: int) -> Schedule | None:
        """Count a failed turn in a row, or reset the count. With `most` failures the schedule is paused and
        returned."""


class ChatStore(Protocol):
    """Settings of a chat."""

    async def streaming(self, chat: ChatKey) -> bool: ...
    async def set_streaming(self, chat: ChatKey, on: bool) -> None: ...
    async def learning(self, chat: ChatKey) -> bool | None:
        """Whether tools and tiers are learned from messages in this chat; None if that was not set."""

    async def set_learning(self, chat: ChatKey, on: bool) -> None: ...
    async def allowed(self, chat: ChatKey) -> bool: ...
    async def set_allowed(self, chat: ChatKey, allowed: bool, actor: str) -> None: ...
    async def moved(self, old: ChatKey, new_chat_id: str) -> None:
        """Move everything from a group's old id to the id of its supergroup."""


class KnownChats(Protocol):
    """The chats that the bot is used in."""

    async def known(self, platform: str, since: float) -> tuple[ChatKey, ...]:
        """Chats with an answer since then or a waiting message, and those that an owner allowed."""


class PersonalDataStore(Protocol):
    """What is stored about one person, without secrets and other people's messages."""

    async def names(self) -> tuple[str, ...]:
        """The kinds of data besides conversations."""

    async def rows(self, person_id: int, name: str, after: int = 0) -> tuple[Mapping[str, Any], ...]:
        """A page of one kind, after the row with this id (1, if they have none); empty after the last page."""

    async def conversations(self, person_id: int) -> tuple[Conversation, ...]:
        """The conversations in which the person wrote, oldest first."""

    async def messages(self, person_id: int, conversation_id: int, after: int = 0) -> tuple[StoredMessage, ...]:
        """A page of the person's messages and the answers to them, after this id; empty after the last page."""


EDIT_KEY = "edit of person {person_id}"
"""State key for the last message edit by a person."""


class StateStore(Protocol):
    """Small values that survive a restart."""

    async def get(self, key: str) -> str | None: ...
    async def put(self, key: str, value: str | None) -> None: ...


class InboxStore(Protocol):
    """Stores messages before they are acknowledged to the platform."""

    async def accept(self, messages: Sequence[InboundMessage]) -> tuple[InboxEntry, ...]:
        """Store messages; returns only the new ones."""

    async def set_aside(self) -> int:
        """Skip messages that can't be read; returns how many."""

    async def unfinished(self) -> tuple[InboxEntry, ...]:
        """Messages that an earlier process left unanswered, in order."""

    async def begin(self, inbox_ids: Sequence[int]) -> None:
        """Count an attempt at the start of a turn."""

    async def placeholder(self, inbox_id: int, message_id: str) -> None:
        """Remember the message being streamed, so that a restart continues in it."""

    async def fix(self, settings: Mapping[int, TurnSettings]) -> None:
        """Store the settings to answer these messages with, by inbox id."""

    async def oldest_unfinished(self) -> float | None:
        """When the oldest unanswered message was stored, in Unix seconds."""

    async def sweep(self, before: float) -> None:
        """Delete answered messages older than `before`."""


class OutboxStore(Protocol):
    """Stores replies until the platform has them."""

    async def set_aside(self) -> int:
        """Skip replies that can't be read; returns how many."""

    async def unsent(self) -> tuple[OutboxEntry, ...]:
        """Pending and attempted replies of an earlier process, in order."""

    async def get(self, outbox_id: int) -> OutboxEntry | None: ...
    async def attempting(self, outbox_id: int) -> None:
        """Record the start of an attempt. One left by a dead process counts as ambiguous."""

    async def piece_sent(self, outbox_id: int, pieces: int, message_id: str) -> None:
        """Record a delivered piece; the next one is not ambiguous yet."""

    async def sent(self, outbox_id: int, message_id: str) -> None: ...
    async def retry_later(self, outbox_id: int, not_before: float, ambiguous: int, error: str) -> None:
        """Record a failed attempt; `ambiguous` is the new count."""

    async def dead(self, outbox_id: int, error: str) -> None: ...
    async def redirect(self, outbox_id: int, message: OutboundMessage, error: str) -> OutboxEntry:
        """Send this message, to another chat, instead of the stored one."""

    async def add(self, messages: Sequence[OutboundMessage]) -> tuple[OutboxEntry, ...]:
        """Queue notices that don't answer a message."""

    async def with_files(self, message: OutboundMessage) -> OutboundMessage:
        """The message with the content of its files; those whose content is gone have none."""

    async def counts(self) -> dict[str, int]:
        """The number of replies in each unfinished state."""

    async def sweep(self, before: float) -> None: ...


class ClaimStore(Protocol):
    """Which of the processes that share a database handles which chat. A process is taken for dead if its heartbeats
    stop, and others claim its chats. `Lease` holds what this process has claimed."""

    async def register(self, name: str, starting: bool) -> None:
        """Begin a new lease. The earlier process with this lease has ended, and if this one is `starting`, any with
        this name, because it would still hold the workspace."""

    async def beat(self) -> int:
        """Tell the others that this process lives. Returns how many live, with this one; 0 if they took it for dead."""

    def hear(self, heard: Callable[[Collection[str]], object]) -> None:
        """Call `heard` with what other processes `tell`."""

    async def tell(self, chats: Collection[str]) -> None:
        """Tell the others that something was stored for these chats. Without chats, they look everywhere."""

    async def look_for_dead(self) -> None:
        """Take those processes for dead whose heartbeats have stopped."""

    async def claim(self, platforms: Collection[str], most: int, dead: bool) -> frozenset[str]:
        """Claim at most this many chats in which something waits for nobody, and with `dead` as many of processes that
        have ended."""

    async def take(self, chats: Collection[str]) -> Claimed:
        """What waits in these chats and is not with this process yet, in order. Chats of others are left out."""

    async def release(self, chats: Collection[str]) -> frozenset[str]:
        """Give back those of these chats in which nothing waits. The others are kept, after an error all."""

    async def end(self) -> None:
        """Let others claim the chats of this process at once."""


class VectorStore(Protocol):
    """Vectors by encoder name and hash of the text: rows of little-endian float32, as bytes.

    Returns exactly the stored bytes; callers must check the length. All methods raise StorageFault; the vectors can be
    computed again.
    """

    async def get(self, encoder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """The stored vectors by hash; missing ones are left out."""

    async def put(self, encoder: str, vectors: Mapping[str, bytes]) -> None:
        """Store all vectors or none; a newer vector replaces an older one."""

    async def keep(self, encoder: str, hashes: Collection[str]) -> int:
        """Delete the vectors of other encoders and of texts that aren't in `hashes`; returns how many. Works in small
        steps, so that the next call continues after a failure."""
