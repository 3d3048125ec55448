"""What the bot keeps, and what keeps it. Implemented in `storage`, wired in `bot.app`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from routing.confirmation import ActionState, Allowance, PendingAction
from routing.types import (
    ChatKey,
    InboundMessage,
    OutboundMessage,
    Override,
    Person,
    PersonSettings,
    Preferences,
    Role,
    Tier,
    TierChoice,
    TurnSettings,
    UserKey,
)


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


@dataclass(frozen=True, slots=True)
class Pairing:
    """A stranger who asked to be let in, with the newest messages that they wrote. `code` is empty when read from a
    store, which only has its hash."""

    user: UserKey
    name: str
    code: str
    expires_at: float
    username: str = ""
    messages: tuple[InboundMessage, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Account:
    """One of a person's accounts; `linked_at` is Unix seconds, 0 for the one that they came with."""

    user: UserKey
    linked_at: float


@dataclass(frozen=True, slots=True)
class Adoption:
    """The files of who `was` somebody are still to be given to the person who they are now."""

    was: int
    person_id: int


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


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A durable message on its way to an answer; `attempts` counts the turns begun for it. `fixed` is what a question
    is answered with whatever was set since; None: what holds when its turn begins."""

    id: int
    message: InboundMessage
    attempts: int
    placeholder: str
    fixed: TurnSettings | None = None


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
