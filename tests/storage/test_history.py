"""The conversations, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from storage.database import Database
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.people import SqlPeople
from storage.preferences import SqlPreferences
from tests.storage.samples import ANN, HOME, OTHER, PHOTO, TOPIC, Hand, record


async def test_history_has_one_conversation_a_place_and_goes_back(database: Database, clock: Hand) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    first = await history.current(HOME)
    assert (await history.current(HOME)).id == first.id
    assert len({first.id, (await history.current(OTHER)).id, (await history.current(TOPIC)).id}) == 3
    assert await history.recent(HOME, 5) == ()
    await ledger.finish([], [], record(first.id, ann.id, "one", "eins", pictures=(PHOTO,)))
    second = await history.begin(HOME)
    assert second.id != first.id and (await SqlHistory(database, clock).current(HOME)).id == second.id
    await ledger.finish([], [], record(second.id, ann.id, "two"))
    recent = await history.recent(HOME, 5)
    assert [(each.id, each.messages, each.title) for each in recent] == [(second.id, 1, "two"), (first.id, 2, "one")]
    await history.resume(recent[1])
    assert (await history.current(HOME)).id == (await SqlHistory(database, clock).current(HOME)).id == first.id
    messages, total = await history.messages(first.id, 10)
    assert [(m.role, m.text, m.pictures) for m in messages] == [("user", "one", (PHOTO,)), ("assistant", "eins", ())]
    assert total == 2


async def test_history_is_read_from_its_end_and_before_a_message(database: Database, clock: Hand) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    here = await history.current(HOME)
    assert await history.last_question(here.id) is None
    for n in range(5):
        await ledger.finish([], [], record(here.id, ann.id, f"q{n}", f"a{n}"))
    messages, total = await history.messages(here.id, 3)
    assert [m.text for m in messages] == ["a3", "q4", "a4"] and total == 10
    last = await history.last_question(here.id)
    assert last is not None and last.text == "q4"
    before, total = await history.messages(here.id, 3, last.id)
    assert [m.text for m in before] == ["a2", "q3", "a3"] and total == 8
    await ledger.finish([], [], record(here.id, ann.id, "q4", "better", replaces_from=last.id))
    assert [m.text for m in (await history.messages(here.id, 3))[0]] == ["a3", "q4", "better"]
