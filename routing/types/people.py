"""People, their roles and preferences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from routing.types.messages import InboundMessage, UserKey
from routing.types.tiers import Tier


@dataclass(frozen=True, slots=True)
class Pairing:
    """A stranger's request for access, with their latest messages. `code` is empty when loaded, because only its hash
    is stored."""

    user: UserKey
    name: str
    code: str
    expires_at: float
    username: str = ""
    messages: tuple[InboundMessage, ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """One of a person's accounts; `linked_at` is in Unix seconds, 0 for their first one."""

    user: UserKey
    linked_at: float


@dataclass(frozen=True, slots=True)
class Adoption:
    """A merge of two people: the files of `was` still have to move to `person_id`."""

    was: int
    person_id: int


Role = Literal["owner", "admin", "user", "guest", "blocked"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Person:
    """A known person, on any platform. `language` is the ISO 639-1 code of the language that they chose, or else that
    their app last used; empty if neither is known."""

    id: int
    role: Role
    name: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a platform says about the sender of a message. Each is empty if unknown; `language` also if it is not the
    sender's own."""

    name: str
    username: str
    language: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change of access or limits. `actor` is an account, or a source such as "configuration"; `subject` is the
    account, chat or person (`person 7`) that changed; `change` is the new role, the new limits, or the person that an
    account was linked with."""

    at: float
    actor: str
    action: str
    subject: str
    change: str = ""


@dataclass(frozen=True, slots=True)
class Override:
    """A person's own model for one tier; `reasoning` None uses the catalogue's default."""

    model: str
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """A person's stored choices: tier (None: none), the lock on it, own models. With `auto` each message chooses its
    tier."""

    tier: Tier | None = None
    force: bool = False
    overrides: dict[Tier, Override] = field(default_factory=dict)
    auto: bool = False


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """A person's settings from /settings, /tools, /voice and /memory. `time_zone` is an IANA name, `instructions` are
    added to the prompt, `off` are toolkits to hide, `footer` adds cost and time to each answer, and `voice` sends
    answers also as voice messages. Without `memory` no facts are remembered or used."""

    language: str = ""
    time_zone: str = "UTC"
    instructions: str = ""
    off: frozenset[str] = frozenset()
    footer: bool = False
    voice: bool = False
    memory: bool = True
