"""Conversation history, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, select, update

from routing.types.history import Summary
from storage.database import Database, migrate, parse_url
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.schema import summaries
from storage.stores import open_stores
from tests.fakes import ManualClock
from tests.storage.samples import ANN, HOME, OTHER, PHOTO, TOPIC, record


async def test_history_is_per_conversation_and_can_be_undone(database: Database, clock: ManualClock) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    first = await history.current(HOME)
    assert (await history.current(HOME)).id == first.id
    assert len({first.id, (await history.current(OTHER)).id, (await history.current(TOPIC)).id}) == 3
    assert await history.recent(HOME, 5) == ()
    await ledger.finish([], [], record(first.id, ann.id, "one", "eins", pictures=(PHOTO,)))
    second = await history.begin(HOME)
    assert second.id != first.id
    assert (await SqlHistory(database, clock).current(HOME)).id == second.id
    await ledger.finish([], [], record(second.id, ann.id, "two"))
    recent = await history.recent(HOME, 5)
    assert [(each.id, each.messages, each.title) for each in recent] == [(second.id, 1, "two"), (first.id, 2, "one")]
    await history.resume(recent[1])
    assert (await history.current(HOME)).id == (await SqlHistory(database, clock).current(HOME)).id == first.id
    messages, total = await history.messages(first.id, 10)
    assert [(m.role, m.text, m.pictures) for m in messages] == [("user", "one", (PHOTO,)), ("assistant", "eins", ())]
    assert total == 2


async def test_history_is_read_from_its_end_and_before_a_message(database: Database, clock: ManualClock) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    here = await history.current(HOME)
    assert await history.last_question(here.id) is None
    for n in range(5):
        await ledger.finish([], [], record(here.id, ann.id, f"q{n}", f"a{n}"))
    messages, total = await history.messages(here.id, 3)
    assert [m.text for m in messages] == ["a3", "q4", "a4"]
    assert total == 10
    last = await history.last_question(here.id)
    assert last is not None
    assert last.text == "q4"
    before, total = await history.messages(here.id, 3, last.id)
    assert [m.text for m in before] == ["a2", "q3", "a3"]
    assert total == 8
    await ledger.finish([], [], record(here.id, ann.id, "q4", "better", replaces_from=last.id))
    assert [m.text for m in (await history.messages(here.id, 3))[0]] == ["a3", "q4", "better"]


async def test_a_private_summary_keeps_its_reader_through_the_migration(
    database_url: str, database: Database, clock: ManualClock
) -> None:
    """Earlier, a line before the text said who may read it."""
    stores = open_stores(database, clock)
    ann = await stores.people.admit(ANN, "Ann", "user", "owner")
    conversation = (await stores.history.begin(HOME)).id
    gone = (await stores.history.begin(OTHER)).id
    for where, text, reader in ((conversation, "tides", ann.id), (conversation, "[for person x", 0), (gone, "hers", 0)):
        await stores.history.summarise(where, Summary(1, text, 1, reader=reader))

    def step(connection: Connection) -> str:
        config = Config()
        config.set_main_option("script_location", str(migrate.SCRIPTS))
        config.attributes["connection"] = connection
        command.downgrade(config, "0017")
        rows = connection.execute(select(summaries.c.id, summaries.c.text).order_by(summaries.c.id)).all()
        assert [row.text for row in rows] == [f"[for person {ann.id} alone]\ntides", "[for person x", "hers"]
        unknown = update(summaries).where(summaries.c.id == rows[2].id)
        connection.execute(unknown.values(text="[for person 999 alone]\nhers"))
        command.upgrade(config, "head")
        kept = connection.execute(select(summaries).order_by(summaries.c.id)).all()
        assert [(row.text, row.person_id) for row in kept] == [("tides", ann.id), ("[for person x", None)]
        return "done"

    assert await asyncio.to_thread(migrate._run, parse_url(database_url), step) == "done"
