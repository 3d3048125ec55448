"""Known people, pending access requests, and the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select, update

from routing.one_time_codes import matches
from routing.ports import Clock
from routing.types.messages import OutgoingFile, UserKey
from routing.types.people import ROLES, AuditEntry, Pairing, Person, Profile, Role
from storage.audit import read_audit_detail, write_audit
from storage.conversation_cache import ConversationCache
from storage.database import Database
from storage.examples import SqlExamples
from storage.facts import SqlFacts
from storage.outgoing_files import OutgoingFileStore
from storage.people.account_cache import AccountCache, find_account
from storage.people.forgetting import accounts_of, forget_person
from storage.people.pairings import HAS_ACCESS, KEPT_SECONDS, matches_request, of_account, read_request, store_request
from storage.people.preferences import SqlPreferences
from storage.people.service_accounts import SqlServiceAccounts
from storage.schema import (
    allowances,
    audit,
    identities,
    links,
    pairings,
    people,
)
from storage.upsert import insert_if_new


class SqlPeople:
    """Implements `routing.ports.PeopleStore`. Caches known and unknown accounts."""

    def __init__(
        self,
        database: Database,
        preferences: SqlPreferences,
        clock: Clock,
        steady: Clock | None = None,
        conversations: ConversationCache | None = None,
        accounts: SqlServiceAccounts | None = None,
        facts: SqlFacts | None = None,
    ) -> None:
        """Codes expire by `steady` (default: `clock`). `conversations` is the cache of messages; `accounts` and `facts`
        need not be read for a person who has none."""
        self._database = database
        self._preferences = preferences
        self._clock = clock
        self._steady = steady or clock
        self._cache = AccountCache(database, preferences, conversations, accounts, facts)
        self._merged: dict[int, int] = {}
        self.also_clear: tuple[Callable[[], object], ...] = ()
        """Clear other caches after a person was forgotten."""
        self.outgoing: OutgoingFileStore | None = None
        """Where the files of forgotten people are deleted."""

    def also_cache(self, examples: SqlExamples) -> None:
        """Examples need not be read for a person who has none."""
        self._cache.examples = examples

    async def find(self, user: UserKey) -> Person | None:
        account = await self._cache.get(user)
        return None if account is None else await self._in_chosen_language(account.person)

    async def admit(self, user: UserKey, name: str, role: Role, actor: str) -> Person:
        now = self._clock()
        return await self._cache.change(lambda c: _admit(c, user, name, role, actor, now), lambda admitted: admitted.id)

    async def admit_sender(self, user: UserKey, profile: Profile, role: Role, actor: str) -> Person:
        now = self._clock()

        def step(connection: Connection) -> None:
            admitted = _admit(connection, user, profile.name, role, actor, now)
            _write_profile(connection, user, admitted.id, profile)
            connection.execute(delete(pairings).where(of_account(user)))

        admitted = await self._cache.change_account(user, step)
        assert admitted is not None
        return await self._in_chosen_language(admitted.person)

    async def seen(self, user: UserKey, profile: Profile) -> Person | None:
        account = await self._cache.get(user)
        if account is None:
            return None
        person = account.person
        language = profile.language[:8] or person.language
        named = person.name or not profile.name
        if named and (account.username, person.language) == (profile.username[:64], language):
            return await self._in_chosen_language(person)
        changed = await self._cache.change_account(user, lambda c: _write_profile(c, user, person.id, profile))
        return None if changed is None else await self._in_chosen_language(changed.person)

    async def everyone(
        self, limit: int | None = None, offset: int = 0
    ) -> tuple[tuple[Person, tuple[UserKey, ...]], ...]:
        def step(connection: Connection) -> tuple[tuple[Person, tuple[UserKey, ...]], ...]:
            page = select(people).order_by(people.c.id).limit(limit).offset(offset)
            known = connection.execute(page).all()
            if not known:
                return ()
            theirs = select(identities).where(identities.c.person_id.between(known[0].id, known[-1].id))
            accounts: dict[int, list[UserKey]] = {}
            for row in connection.execute(theirs):
                accounts.setdefault(row.person_id, []).append(UserKey(row.platform, row.user_id))
            return tuple((Person(r.id, r.role, r.name), tuple(accounts.get(r.id, ()))) for r in known)

        return await self._database.read(step)

    async def owners(self) -> tuple[UserKey, ...]:
        query = select(identities).join(people).where(people.c.role == "owner").order_by(people.c.id)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return tuple(UserKey(row.platform, row.user_id) for row in rows)

    async def forget(self, person_id: int, actor: str) -> None:
        now = self._clock()

        def step(connection: Connection) -> tuple[OutgoingFile, ...]:
            by = f"person {person_id}" if actor in map(str, accounts_of(connection, person_id)) else actor
            files = forget_person(connection, person_id)
            write_audit(connection, now, by, "forget", f"person {person_id}")
            return files

        try:
            files = await self._database.write(step)
        finally:
            self.clear_all()
            for clear in self.also_clear:
                clear()
        if self.outgoing is not None:
            await self.outgoing.delete(files)

    def merged(self, was: int, person_id: int) -> None:
        """Note that person `was` became `person_id`; a turn in progress for `was` is recorded for `person_id`."""
        self._merged[was] = person_id

    def current_id(self, person_id: int) -> int:
        """The person's id after all merges."""
        while person_id in self._merged:
            person_id = self._merged[person_id]
        return person_id

    def clear_all(self) -> None:
        """Clear the caches of all that linking and forgetting change."""
        self._cache.clear_all()

    def clear(self) -> None:
        """Clear the cached accounts."""
        self._cache.clear()

    def forget_cached(self, person_id: int) -> None:
        """Clear the cached accounts of a person."""
        self._cache.forget(person_id)

    async def usernames(self, people: Sequence[int] | None = None) -> Mapping[UserKey, str]:
        named = select(identities).where(identities.c.username != "")
        if people is not None:
            named = named.where(identities.c.person_id.in_(people))
        rows = await self._database.read(lambda c: c.execute(named).all())
        return {UserKey(row.platform, row.user_id): row.username for row in rows}

    async def admitted(self) -> tuple[Pairing, ...]:
        rows = await self._database.read(lambda c: c.execute(select(pairings).where(HAS_ACCESS)).all())
        return tuple(read_request(row) for row in rows)

    async def release(self, user: UserKey) -> None:
        await self._database.write(lambda c: c.execute(delete(pairings).where(of_account(user))))

    async def ask(self, pairing: Pairing, waiting_limit: int) -> Pairing:
        now = self._steady()
        return await self._database.write(lambda c: store_request(c, pairing, waiting_limit, now))

    async def shorten(self, seconds: float) -> None:
        latest = self._steady() + seconds

        def step(connection: Connection) -> None:
            for codes in (pairings, links):
                connection.execute(update(codes).where(codes.c.expires_at > latest).values(expires_at=latest))

        await self._database.write(step)

    async def waiting(self) -> tuple[Pairing, ...]:
        waits = (pairings.c.expires_at > self._steady() - KEPT_SECONDS) & ~HAS_ACCESS
        valid = select(pairings).where(waits).order_by(pairings.c.expires_at)
        rows = await self._database.read(lambda c: c.execute(valid).all())
        return tuple(read_request(row) for row in rows)

    async def approve(self, asked: str | UserKey, actor: str) -> Pairing | None:
        now, steady = self._clock(), self._steady()

        def step(connection: Connection) -> Pairing | None:
            kept = connection.execute(select(pairings).where(pairings.c.expires_at > steady - KEPT_SECONDS))
            found = next((read_request(row) for row in kept if matches_request(row, asked, steady)), None)
            if found is None:
                return None
            known = find_account(connection, found.user)
            if known is not None and known.person.role != "guest":  # a code never lowers a role
                return None
            _admit(connection, found.user, found.name, "user", actor, now)
            return found

        return await self._cache.change(step)

    async def expire_code(self, code: str) -> UserKey | None:
        steady = self._steady()

        def step(connection: Connection) -> UserKey | None:
            valid = connection.execute(select(pairings).where(pairings.c.expires_at > steady))
            found = next((read_request(row).user for row in valid if matches(code, row.code_hash)), None)
            if found is not None:
                connection.execute(update(pairings).where(of_account(found)).values(expires_at=steady))
            return found

        return await self._database.write(step)

    async def audit(self, actor: str, action: str, subject: str) -> None:
        now = self._clock()
        await self._database.write(lambda c: write_audit(c, now, actor, action, subject))

    async def audit_log(self, limit: int) -> tuple[AuditEntry, ...]:
        newest = select(audit).order_by(audit.c.id.desc()).limit(limit)
        rows = await self._database.read(lambda c: c.execute(newest).all())
        return tuple(AuditEntry(r.at, r.actor, r.action, *read_audit_detail(r.action, r.detail)) for r in rows)

    async def _in_chosen_language(self, person: Person) -> Person:
        settings = await self._preferences.settings(person.id)
        return replace(person, language=settings.language) if settings.language else person


def _write_profile(connection: Connection, user: UserKey, person_id: int, profile: Profile) -> None:
    here = (identities.c.platform == user.platform) & (identities.c.user_id == user.user_id)
    spoken = {"language": profile.language[:8]} if profile.language else {}
    connection.execute(update(identities).where(here).values(username=profile.username[:64], **spoken))
    unnamed = (people.c.id == person_id) & (people.c.name == "")
    connection.execute(update(people).where(unnamed).values(name=profile.name[:200]))


def _admit(connection: Connection, user: UserKey, name: str, role: Role, actor: str, now: float) -> Person:
    known = find_account(connection, user)
    if known is None:
        row = {"name": name[:200], "role": role, "created_at": now}
        added = connection.execute(insert(people), row).inserted_primary_key
        assert added is not None
        asked_in = connection.scalar(select(pairings.c.language).where(of_account(user)))
        account = {"platform": user.platform, "user_id": user.user_id, "person_id": added[0]}
        if not insert_if_new(connection, identities, account | {"language": asked_in or ""}):
            connection.execute(delete(people).where(people.c.id == added[0]))  # another process was faster
            return _admit(connection, user, name, role, actor, now)
    else:
        connection.execute(update(people).where(people.c.id == known.person.id).values(role=role))
        if ROLES.index(role) > ROLES.index(known.person.role):  # what was allowed for good ends with the role
            for_good = allowances.c.conversation_id.is_(None)
            connection.execute(delete(allowances).where(allowances.c.person_id == known.person.id, for_good))
    if role == "blocked":
        connection.execute(delete(pairings).where(of_account(user)))
    write_audit(connection, now, actor, "admit", str(user), role)
    found = find_account(connection, user)
    assert found is not None
    return found.person
