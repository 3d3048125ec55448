"""What the admin page lists about people: names and numbers, never what they wrote."""

from __future__ import annotations

from dataclasses import dataclass

from routing.types.messages import UserKey
from routing.types.people import Person, Role


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """A person in a list. `usernames` has the accounts' handles, empty where unknown. `conversations` counts those in
    which a model was called; `last_hour` is the start of the hour of their last answer. `schedules` counts reminders
    and tasks, `next_at` is the next one's time, `connected` counts accounts with other services. Times are Unix
    seconds."""

    person: Person
    accounts: tuple[UserKey, ...]
    usernames: tuple[str, ...]
    created_at: float
    conversations: int = 0
    last_hour: float | None = None
    schedules: int = 0
    next_at: float | None = None
    connected: int = 0


@dataclass(frozen=True, slots=True)
class PeopleFilter:
    """Which people to list: those whose name, handle or account contains `search`, with this role (None: any).
    `with_schedules` keeps those who have reminders or tasks, sorted by the next one."""

    search: str = ""
    role: Role | None = None
    with_schedules: bool = False


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """One page of a list, and the number of all people that it could show."""

    people: tuple[ListedPerson, ...]
    total: int
