"""The cache of accounts, known and unknown, and the changes that it has to follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, bindparam, exists, select

from routing.bounded import Bounded
from routing.types.messages import UserKey
from routing.types.people import Person
from storage.conversation_cache import ConversationCache
from storage.database import Database
from storage.examples import SqlExamples
from storage.facts import SqlFacts
from storage.people.preferences import SqlPreferences, StoredPreferences, read_preferences
from storage.people.service_accounts import SqlServiceAccounts
from storage.schema import examples, facts, identities, people, service_accounts

_FIND = (
    select(
        people,
        identities.c.language,
        identities.c.username,
        exists().where(facts.c.person_id == people.c.id).label("remembered"),
        exists().where(service_accounts.c.person_id == people.c.id).label("connected"),
        exists().where(examples.c.person_id == people.c.id).label("taught"),
    )
    .join(identities, identities.c.person_id == people.c.id)
    .where(identities.c.platform == bindparam("platform"), identities.c.user_id == bindparam("user"))
)

_CACHE_SIZE = 10_000
"""Maximum number of cached accounts; the number of strangers is unlimited."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KnownAccount:
    """`person.language` is the language of the account's app, not the one that the person chose. `remembered`: there
    were facts about the person when it was read, `connected`: they had connected accounts, `taught`: examples."""

    person: Person
    username: str
    remembered: bool
    connected: bool
    taught: bool


class AccountCache:
    """Reads accounts once, known and unknown ones. What is stored beside an account is read with it and cached where it
    belongs."""

    def __init__(
        self,
        database: Database,
        preferences: SqlPreferences,
        conversations: ConversationCache | None = None,
        accounts: SqlServiceAccounts | None = None,
        facts: SqlFacts | None = None,
    ) -> None:
        """`conversations` is the cache of messages; `accounts` and `facts` need not be read for a person who has
        none."""
        self._database = database
        self._preferences = preferences
        self._conversations = conversations
        self._accounts = accounts
        self._facts = facts
        self._cache = Bounded[UserKey, KnownAccount | None](_CACHE_SIZE)
        self._reads = object()
        """Replaced by each change; results of reads that began before it are not cached."""
        self._changes = 0
        """Counts changes of roles and links."""
        self.examples: SqlExamples | None = None
        """Need not be read for a person who has none."""

    async def get(self, user: UserKey) -> KnownAccount | None:
        """The account; None if it is unknown."""
        if user not in self._cache:
            reads, changes = self._reads, self._counts
            found = await self._database.read(lambda c: _read_account(c, user))
            account = None if found is None else found[0]
            if reads is self._reads:
                self._cache[user] = account
            if found is not None:
                self._keep(*found, changes)
            return account
        return self._cache[user]

    async def change(self, step: Callable[[Connection], T], changed: Callable[[T], int] | None = None) -> T:
        """Run a step that changes accounts or roles, and clear the cache. If `changed` returns the id of the only
        person concerned, accounts of other people stay cached."""
        person_id = None
        try:
            done = await self._database.write(step)
            if changed is not None:
                person_id = changed(done)
            return done
        finally:
            self._changes += 1
            if person_id is None:
                self._drop_all()
            else:
                self._drop(person_id)

    async def change_account(self, user: UserKey, step: Callable[[Connection], object]) -> KnownAccount | None:
        """Run a step that admits an account or changes its profile, and cache the account as the step left it. None if
        it was forgotten meanwhile. A cancelled step may still be committed, so nothing read before it is cached."""
        own_changes, changes = self._counts, self._changes
        ended = False

        def change_and_read(connection: Connection) -> tuple[KnownAccount, StoredPreferences] | None:
            step(connection)
            return _read_account(connection, user)

        try:
            found = await self._database.write(change_and_read)
            ended = True
        finally:
            if not ended:
                self.clear()
        if found is None:
            self._drop_all()
            return None
        account, own = found
        self._drop(account.person.id)
        if changes == self._changes:  # otherwise it may be stale
            self._cache[user] = account
            self._keep(account, own, own_changes)
        return account

    def clear_all(self) -> None:
        """Clear the caches of all that linking and forgetting change."""
        self.clear()
        self._preferences.clear()
        if self._facts is not None:
            self._facts.clear()
        if self._conversations is not None:
            self._conversations.clear()
        if self._accounts is not None:
            self._accounts.clear()
        if self.examples is not None:
            self.examples.forget_cached()

    def clear(self) -> None:
        """Clear the cached accounts."""
        self._changes += 1
        self._drop_all()

    def forget(self, person_id: int) -> None:
        """Clear the cached accounts of a person."""
        self._changes += 1
        self._drop(person_id)

    @property
    def _counts(self) -> tuple[int, ...]:
        """The changes of preferences, facts, connected accounts and examples, for `_keep`."""
        others = (self._facts, self._accounts, self.examples)
        return (self._preferences.changes, *(each.changes if each else 0 for each in others))

    def _keep(self, account: KnownAccount, own: StoredPreferences, before: tuple[int, ...]) -> None:
        """Cache what was read with an account. `before` are the counts before the read."""
        changes, fact_changes, account_changes, example_changes = before
        self._preferences.keep(account.person.id, own, changes)
        if self._facts is not None and not account.remembered:
            self._facts.keep(account.person.id, (), fact_changes)
        if self._accounts is not None and not account.connected:
            self._accounts.keep(account.person.id, (), account_changes)
        if self.examples is not None and not account.taught:
            self.examples.keep(account.person.id, (), example_changes)

    def _drop(self, person_id: int) -> None:
        """Drop the cached accounts of a person, and the unknown ones, any of which may be theirs now."""
        self._reads = object()
        cached = self._cache.items()
        for user in [user for user, each in cached if each is None or each.person.id == person_id]:
            del self._cache[user]

    def _drop_all(self) -> None:
        self._reads = object()
        self._cache.clear()


def find_account(connection: Connection, user: UserKey) -> KnownAccount | None:
    """The account; None if it is unknown."""
    row = connection.execute(_FIND, {"platform": user.platform, "user": user.user_id}).one_or_none()
    return (
        None
        if row is None
        else KnownAccount(
            Person(row.id, row.role, row.name, row.language), row.username, row.remembered, row.connected, row.taught
        )
    )


def _read_account(connection: Connection, user: UserKey) -> tuple[KnownAccount, StoredPreferences] | None:
    """The account and its person's preferences."""
    found = find_account(connection, user)
    return None if found is None else (found, read_preferences(connection, found.person.id))
