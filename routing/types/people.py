"""People, their roles and preferences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from routing.types.messages import InboundMessage, UserKey
from routing.types.tiers import Tier


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


Role = Literal["owner", "admin", "user", "guest", "blocked"]


ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody the bot knows, on whichever platforms. `language` is an ISO 639-1 code, empty when never chosen."""

    id: int
    role: Role
    name: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Override:
    """A person's own model for one tier; `reasoning` None sends what the catalogue calls the default."""

    model: str
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a person stored: a tier (None: never chosen), the lock on it, models of their own. With `auto` each message
    chooses its tier."""

    tier: Tier | None = None
    force: bool = False
    overrides: dict[Tier, Override] = field(default_factory=dict)
    auto: bool = False


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """What /settings and /tools keep of a person; `time_zone` is an IANA name, `instructions` go into the prompt,
    `off` are toolkits that they do not want; with `footer` each answer says what it took."""

    language: str = ""
    time_zone: str = "UTC"
    instructions: str = ""
    off: frozenset[str] = frozenset()
    footer: bool = False
