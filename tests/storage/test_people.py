"""Admission, pairing requests and deletion of people, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

from sqlalchemy import insert, select

from routing.types.messages import OutboundMessage, UserKey
from routing.types.people import Pairing, Profile
from storage.database import Database, open_database
from storage.database.migrate import migrate
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people.pairings import KEPT_SECONDS
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.schema import identities, metadata
from storage.stores import Stores
from storage.usage.spending import SqlUsage
from tests.fakes import ManualClock
from tests.polling import until
from tests.storage.fakes import Counting
from tests.storage.samples import ANN, BEN, OTHER, record

PROFILE = Profile("Ann", "ann_", "de")


async def test_people_are_admitted_changed_and_found(database: Database, clock: ManualClock) -> None:
    people = SqlPeople(database, SqlPreferences(database), clock)
    assert await people.find(ANN) is None
    ann = await people.admit(ANN, "Ann", "user", "boss")
    assert (await people.admit(ANN, "", "owner", "boss")).id == ann.id
    await people.admit(BEN, "B" * 300, "guest", "boss")
    assert await people.owners() == (ANN,)
    everyone = await people.everyone()
    assert [(p.role, len(p.name), accounts) for p, accounts in everyone] == [
        ("owner", 3, (ANN,)), ("guest", 200, (BEN,)),
    ]  # fmt: skip
    assert [(row.action, row.subject, row.change) for row in await people.audit_log(2)] == [
        ("admit", "telegram:2", "guest"), ("admit", "telegram:1", "owner"),
    ]  # fmt: skip


async def test_an_unknown_account_is_cached_until_admitted(database: Database, clock: ManualClock) -> None:
    counting = Counting(database)
    people = SqlPeople(counting, SqlPreferences(database), clock)
    for _ in range(3):
        assert await people.find(ANN) is None
    assert counting.reads == 1
    await people.ask(Pairing(ANN, "Ann", "AAAAAAAA", clock.now + 600), 3)
    await people.approve("AAAAAAAA", "boss")
    found = await people.find(ANN)
    assert found is not None
    assert found.role == "user"
    assert await people.find(BEN) is None
    people.clear_all()
    await people.find(BEN)
    assert counting.reads == 4


async def test_an_admission_during_a_lookup_is_not_cached_away(database: Database, clock: ManualClock) -> None:
    counting = Counting(database)
    people = SqlPeople(counting, SqlPreferences(database), clock)
    counting.gate.clear()
    search = asyncio.create_task(people.find(ANN))
    await until(lambda: counting.reads)
    await people.admit(ANN, "Ann", "user", "boss")
    counting.gate.set()
    await search
    assert await people.find(ANN) is not None


async def test_a_sender_is_admitted_in_one_transaction(stores: Stores) -> None:
    request = Pairing(ANN, "Ann", "AAAAAAAA", 1e12, language="fr")
    await stores.people.ask(request, 2)
    admitted = await stores.people.admit_sender(ANN, Profile("Ann", "ann_", "de"), "user", "open access")
    assert (admitted.name, admitted.role, admitted.language) == ("Ann", "user", "de")
    assert await stores.people.usernames() == {ANN: "ann_"}
    assert await stores.people.admitted() == ()
    assert await stores.people.find(ANN) == admitted


async def test_an_unchanged_profile_is_not_written(database: Database, clock: ManualClock) -> None:
    await SqlPeople(database, SqlPreferences(database), clock).admit_sender(ANN, PROFILE, "user", "t")
    counting = Counting(database)
    people = SqlPeople(counting, SqlPreferences(counting), clock)
    for profile in (PROFILE, Profile("Another", "ann_", "")):
        found = await people.seen(ANN, profile)
        assert found is not None
        assert (found.name, found.language) == ("Ann", "de")
    assert (counting.reads, counting.writes) == (1, 0)
    await people.seen(ANN, Profile("Ann", "x" * 100, "en"))
    await people.seen(ANN, Profile("Ann", "x" * 100, "en"))
    assert (counting.reads, counting.writes) == (1, 1)
    assert await people.usernames() == {ANN: "x" * 64}
    assert await people.seen(BEN, PROFILE) is None


async def test_a_change_of_role_during_a_change_of_profile_shows(database: Database, clock: ManualClock) -> None:
    counting = Counting(database)
    people = SqlPeople(counting, SqlPreferences(counting), clock)
    await people.admit(ANN, "Ann", "user", "t")
    await people.find(ANN)
    held = counting.write_gate
    held.clear()
    seen = asyncio.create_task(people.seen(ANN, PROFILE))
    await until(lambda: counting.writes == 2)
    counting.write_gate = asyncio.Event()
    counting.write_gate.set()
    await people.admit(ANN, "Ann", "blocked", "t")
    held.set()
    await seen
    found = await people.find(ANN)
    assert found is not None
    assert found.role == "blocked"


async def test_someone_forgotten_elsewhere_meanwhile_is_unknown(database: Database, clock: ManualClock) -> None:
    people = SqlPeople(database, SqlPreferences(database), clock)
    ann = await people.admit(ANN, "Ann", "user", "t")
    await people.find(ANN)
    await SqlPeople(database, SqlPreferences(database), clock).forget(ann.id, "t")
    assert await people.seen(ANN, PROFILE) is None
    assert await people.find(ANN) is None


async def test_a_change_leaves_other_people_cached(database: Database, clock: ManualClock) -> None:
    counting = Counting(database)
    people = SqlPeople(counting, SqlPreferences(database), clock)
    linked = UserKey("discord", "3")
    ann = await people.admit(ANN, "Ann", "user", "boss")
    second = {"platform": linked.platform, "user_id": linked.user_id, "person_id": ann.id}
    await database.write(lambda c: c.execute(insert(identities), second))
    for account in (ANN, linked):
        await people.find(account)
    before = counting.reads
    await people.admit(BEN, "Ben", "user", "boss")
    await people.find(ANN)
    assert counting.reads == before
    await people.admit(ANN, "", "blocked", "boss")
    for account in (ANN, linked):
        found = await people.find(account)
        assert found is not None
        assert found.role == "blocked"


async def test_pairing_requests_are_limited_and_expire(database: Database, clock: ManualClock) -> None:
    people = SqlPeople(database, SqlPreferences(database), clock)

    def asks(number: int, code: str) -> Pairing:
        return Pairing(UserKey("telegram", str(number)), "x", code, clock.now + 600)

    first = asks(1, "AAAAAAAA")
    assert await people.ask(first, 2) is first
    clock.now += 1
    assert await people.ask(asks(1, "BBBBBBBB"), 2) == replace(first, code="BBBBBBBB"), "it expires as before"
    await people.ask(asks(2, "CCCCCCCC"), 2)
    assert [(each.user.user_id, each.code) for each in await people.waiting()] == [("1", ""), ("2", "")]
    assert await people.approve("ZZZZZZZZ", "boss") is None
    assert await people.approve("AAAAAAAA", "boss") is None
    approved = await people.approve("BBBBBBBB", "boss")
    assert approved == replace(first, code="")
    assert await people.approve("BBBBBBBB", "boss") is None
    assert await people.approve(UserKey("telegram", "3"), "boss") is None
    admitted = await people.find(first.user)
    assert admitted is not None
    assert admitted.role == "user"
    clock.now += 601
    assert len(await people.waiting()) == 1
    assert await people.approve("CCCCCCCC", "boss") is None
    again = asks(2, "EEEEEEEE")
    assert await people.ask(again, 2) is again, "its code has expired, so it gets a new one"
    clock.now += 600 + KEPT_SECONDS
    assert await people.waiting() == ()
    assert await people.approve(again.user, "boss") is None
    for number in (3, 4, 5):
        clock.now += 1
        await people.ask(asks(number, "DDDDDDDD"), 2)
    assert [each.user.user_id for each in await people.waiting()] == ["4", "5"], "the oldest request was dropped"


async def test_an_admission_whose_caller_is_cancelled_counts(tmp_path: Path, clock: ManualClock) -> None:
    """It is committed after a change of the profile that began earlier, and that must not be cached any more."""
    url = f"sqlite:///{tmp_path / 'people.db'}"
    migrate(url, tmp_path)
    database = open_database(url)
    people = SqlPeople(database, SqlPreferences(database), clock)
    await people.admit(ANN, "Ann", "user", "t")
    await people.find(ANN)
    blocking = asyncio.create_task(database.write(lambda c: time.sleep(0.05)))
    seen = asyncio.create_task(people.seen(ANN, PROFILE))
    admission = asyncio.create_task(people.admit_sender(ANN, PROFILE, "owner", "t"))
    await asyncio.sleep(0)
    admission.cancel()
    await asyncio.gather(blocking, seen, admission, return_exceptions=True)
    assert (await people.find(ANN)) == replace(await people.admit(ANN, "", "owner", "t"), language="de")
    await database.close()


async def test_forgetting_leaves_only_the_audit_record(database: Database, clock: ManualClock) -> None:
    people, ledger, history = (
        SqlPeople(database, SqlPreferences(database), clock),
        SqlLedger(database, clock),
        SqlHistory(database, clock),
    )
    outbox, preferences = SqlOutbox(database, clock), SqlPreferences(database)
    ann, ben = await people.admit(ANN, "Ann", "user", "t"), await people.admit(BEN, "Ben", "user", "t")
    here = await history.current(OTHER)
    for person in (ann, ben):
        reply = OutboundMessage(OTHER, f"to {person.name}", owner=person.id)
        await ledger.finish([], [reply], record(here.id, person.id, f"by {person.name}", "yes"))
        await preferences.set_tier(person.id, "deep", True)
    for entry in await outbox.unsent():
        await outbox.sent(entry.id, "1")
    await people.forget(ann.id, "boss")
    assert await people.find(ANN) is None
    assert await people.find(BEN) == ben
    assert [m.text for m in (await history.messages(here.id, 10))[0]] == ["by Ben", "yes"]
    assert len(await SqlUsage(database).by_model(person_id=ann.id)) == 0
    left = await database.read(lambda c: str([c.execute(select(t)).all() for t in metadata.tables.values()]))
    assert "by Ann" not in left
    assert "to Ann" not in left
    assert "to Ben" in left
    await ledger.finish([], [], record(here.id, ann.id, "late", "too late"))
    assert len((await history.messages(here.id, 10))[0]) == 2
    assert (await people.admit(ANN, "Ann", "user", "t")).id > ben.id
