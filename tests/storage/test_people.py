"""Who may come in, who asks to, and what is left of who was forgotten; on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import select

from routing.stores import Pairing
from routing.types import OutboundMessage, UserKey
from storage.database import Database
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people import SqlPeople
from storage.preferences import SqlPreferences
from storage.schema import metadata
from storage.usage import SqlUsage
from tests.storage.samples import ANN, BEN, OTHER, Hand, record


async def test_people_are_admitted_changed_and_found(database: Database, clock: Hand) -> None:
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
    assert [row[2:] for row in await people.journal(2)] == [
        ("admit", "telegram:2 as guest"), ("admit", "telegram:1 as owner"),
    ]  # fmt: skip


async def test_pairing_keeps_one_request_a_person_a_few_in_all_and_not_for_long(
    database: Database, clock: Hand
) -> None:
    people = SqlPeople(database, SqlPreferences(database), clock)

    def asks(number: int, code: str) -> Pairing:
        return Pairing(UserKey("telegram", str(number)), "x", code, clock.now + 600)

    first = asks(1, "AAAAAAAA")
    assert await people.ask(first, 2) is first
    assert await people.ask(asks(1, "BBBBBBBB"), 2) == first
    await people.ask(asks(2, "CCCCCCCC"), 2)
    assert await people.ask(asks(3, "DDDDDDDD"), 2) is None
    assert [each.code for each in await people.waiting()] == ["AAAAAAAA", "CCCCCCCC"]
    assert await people.approve("ZZZZZZZZ", "boss") is None
    approved = await people.approve("AAAAAAAA", "boss")
    assert approved == first and await people.approve("AAAAAAAA", "boss") is None
    admitted = await people.find(first.user)
    assert admitted is not None and admitted.role == "user"
    clock.now += 601
    assert await people.waiting() == () and await people.approve("CCCCCCCC", "boss") is None
    assert await people.ask(asks(3, "DDDDDDDD"), 2) is not None


async def test_a_forgotten_person_leaves_nothing_but_the_record(database: Database, clock: Hand) -> None:
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
    assert await people.find(ANN) is None and await people.find(BEN) == ben
    assert [m.text for m in (await history.messages(here.id, 10))[0]] == ["by Ben", "yes"]
    assert len(await SqlUsage(database).by_model(person_id=ann.id)) == 0
    left = await database.read(lambda c: str([c.execute(select(t)).all() for t in metadata.tables.values()]))
    assert "by Ann" not in left and "to Ann" not in left and "to Ben" in left
    await ledger.finish([], [], record(here.id, ann.id, "late", "too late"))
    assert len((await history.messages(here.id, 10))[0]) == 2
    assert (await people.admit(ANN, "Ann", "user", "t")).id > ben.id
