"""PostgreSQL tells caches which rows another process has changed."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from functools import partial

import pytest
from sqlalchemy import Connection, text

from routing.types.messages import ChatKey
from storage.database import Database, open_database
from storage.postgres_schema import CHANGED, INDEXES, WATCHED
from storage.schema import metadata
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.polling import until
from tests.postgres import Server
from tests.storage.samples import ANN, BEN, HOME, message, record

pytestmark = pytest.mark.system
Heard = list[tuple[str, int | None]]


@pytest.fixture
async def opened(postgres: Server) -> AsyncIterator[tuple[Database, Database, Heard]]:
    """The databases of two processes, and what the first one hears of the other's changes."""
    url, heard = postgres.copy(), Heard()
    one, other = open_database(url), open_database(url)

    def note(table: str, key: int | None = None) -> None:
        heard.append((table, key))

    for table in WATCHED:
        one.on_outside_change(partial(note, table), (table,), partial(note, table))
    await one.read(lambda c: c.exec_driver_sql("select 1").all())
    await until(lambda: len(heard) == len(WATCHED))  # connected
    heard.clear()
    yield one, other, heard
    await one.close()
    await other.close()


async def changed(database: Database, *changes: str) -> None:
    def step(connection: Connection) -> None:
        for change in changes:
            connection.execute(text(change))

    await database.write(step)


PERSON = "insert into people (id, name, role, created_at) values ({0}, 'Ann', 'user', 0)"
ACCOUNT = "insert into identities (platform, user_id, person_id) values ('telegram', '{0}', {0})"


async def test_a_change_names_its_row(opened: tuple[Database, Database, Heard]) -> None:
    _, other, heard = opened
    await changed(other, PERSON.format(7), PERSON.format(8), ACCOUNT.format(7))
    await changed(other, "update identities set person_id = 8")
    await changed(
        other, "insert into chats (platform, chat_id, streaming, allowed) values ('telegram', '1', true, true)"
    )
    await changed(other, "delete from people where id = 8")
    await until(lambda: len(heard) == 6)
    assert heard == [
        ("identities", 7),
        ("identities", 7),
        ("identities", 8),
        ("chats", None),
        ("people", 8),
        ("identities", 8),
    ]


async def test_a_process_does_not_hear_itself(opened: tuple[Database, Database, Heard]) -> None:
    one, other, heard = opened
    await asyncio.gather(*(changed(one, PERSON.format(number), ACCOUNT.format(number)) for number in range(1, 20)))
    await changed(other, "update people set role = 'owner' where id = 3")
    await until(lambda: heard)
    assert heard == [("people", 3)]


async def test_after_a_lost_connection_everything_is_cleared(
    opened: tuple[Database, Database, Heard], postgres: Server
) -> None:
    _, other, heard = opened
    await changed(other, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tierbot'")
    await until(lambda: len(heard) == len(WATCHED))
    assert {key for _, key in heard} == {None}
    await changed(other, PERSON.format(7), ACCOUNT.format(7))
    await until(lambda: heard[-1] == ("identities", 7))


async def test_a_turn_notifies_nobody(opened: tuple[Database, Database, Heard], clock: ManualClock) -> None:
    """Commits with a notification wait for each other."""
    _, other, heard = opened
    stores = open_stores(other, clock)
    person = (await stores.people.admit(ANN, "Ann", "owner", "t")).id
    here = (await stores.history.current(HOME)).id
    await until(lambda: heard)
    heard.clear()
    (entry,) = await stores.inbox.accept([message("1")])
    await stores.ledger.finish([entry.id], [], record(here, person, "q", "a"))
    await stores.people.admit(BEN, "Ben", "user", "t")
    await until(lambda: heard)
    assert {table for table, _ in heard} == {"identities"}


async def test_what_another_process_changed_shows(opened: tuple[Database, Database, Heard], clock: ManualClock) -> None:
    databases, heard = opened[:2], opened[2]
    one, other = (open_stores(database, clock) for database in databases)
    person = (await one.people.admit(ANN, "Ann", "owner", "t")).id
    chat = ChatKey("telegram", "1")

    async def shown(stores: Stores) -> tuple[object, ...]:
        known = await stores.people.find(ANN)
        tier = (await stores.preferences.get(person)).tier
        return known and known.role, tier, await stores.chats.streaming(chat)

    assert await shown(one) == await shown(other) == ("owner", None, True)
    await other.preferences.set_tier(person, "deep", False)
    await other.chats.set_streaming(chat, False)
    await other.people.admit(ANN, "Ann", "user", "t")
    await until(lambda: {"preferences", "chats", "people"} <= {table for table, _ in heard})
    assert await shown(one) == await shown(other) == ("user", "deep", False)


async def test_the_migration_creates_the_same_triggers(postgres: Server) -> None:
    migration = importlib.import_module("migrations.versions.0031_processes")
    assert migration.WATCHED == WATCHED
    assert migration.INDEXES == INDEXES
    database = open_database(postgres.copy())
    found = await database.read(
        lambda c: (
            c.exec_driver_sql(
                f"select distinct event_object_table from information_schema.triggers where trigger_name = '{CHANGED}'"
            )
            .scalars()
            .all()
        )
    )
    assert set(found) == set(WATCHED) <= set(metadata.tables)
    await database.close()
