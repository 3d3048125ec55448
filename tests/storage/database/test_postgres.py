"""What only a database server does: it restarts, closes connections, and serves several processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest
from sqlalchemy import Connection, Executable, bindparam, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.util import await_only

from routing.errors import StorageFault
from storage.database import Database, open_database
from storage.database.async_engine import AsyncDatabase
from storage.database.faults import driver_message
from storage.database.inspection import look
from storage.database.postgres import CONNECTIONS
from storage.schema import audit, state
from storage.state import SqlState
from tests.postgres import Server

pytestmark = pytest.mark.system
_ROW = {"at": 1.0, "actor": "a", "action": "b", "detail": ""}
_SET = update(state).where(state.c.key == bindparam("key_")).values(value=bindparam("value_"))
_OTHERS = "datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()"


@pytest.fixture
async def database(postgres: Server) -> AsyncIterator[Database]:
    opened = open_database(postgres.copy())
    await asyncio.gather(*(opened.write(lambda c: c.exec_driver_sql("select 1")) for _ in range(4 * CONNECTIONS)))
    yield opened
    await opened.close()


def control(server: Server, action: str) -> None:
    """Start, stop or restart the server, with the options of its first start. A fast stop ends all connections."""
    data = server.folder / "data"
    options = (data / "postmaster.opts").read_text().split(maxsplit=1)[1].strip()
    server.run("pg_ctl", "-D", str(data), "-w", "-m", "fast", "-o", options, action)


def end_connections(server: Server, database: Database) -> None:
    assert isinstance(database, AsyncDatabase)
    name = database._engine.url.database
    server.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")


@pytest.mark.parametrize("option", ["", "&sslmode=disable"])
async def test_a_plain_address_is_understood_also_by_the_doctor(postgres: Server, option: str) -> None:
    facts = await look(postgres.copy().replace("+asyncpg", "") + option)
    assert facts is not None
    assert facts.status == "current"


async def added(database: Database) -> int:
    return await database.read(lambda c: c.execute(select(func.count()).select_from(audit)).scalar_one())


async def process_ids(database: Database) -> set[int]:
    """The server's processes for the other connections to this database."""
    return set(
        await database.read(
            lambda c: c.exec_driver_sql(f"select pid from pg_stat_activity where {_OTHERS}").scalars().all()
        )
    )


async def test_steps_go_on_after_a_restart_between_them(database: Database, postgres: Server) -> None:
    state = SqlState(database)
    for number in range(3):
        await asyncio.to_thread(control, postgres, "restart")
        await asyncio.gather(*(state.put(f"{each}", str(number)) for each in range(4 * CONNECTIONS)))
        await asyncio.to_thread(control, postgres, "restart")
        values = await asyncio.gather(*(state.get(f"{each}") for each in range(4 * CONNECTIONS)))
        assert set(values) == {str(number)}


async def test_without_a_server_the_database_is_unavailable(database: Database, postgres: Server) -> None:
    state = SqlState(database)
    await asyncio.to_thread(control, postgres, "stop")
    try:
        for step in (state.put("a", "1"), state.get("a")):
            with pytest.raises(StorageFault):
                await step
    finally:
        await asyncio.to_thread(control, postgres, "start")
    await state.put("a", "1")
    assert await state.get("a") == "1"


async def test_a_step_whose_connection_ends_runs_again(database: Database, postgres: Server) -> None:
    runs = 0

    def step(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        connection.execute(insert(audit), _ROW)
        if runs == 1:
            end_connections(postgres, database)
        connection.execute(insert(audit), _ROW)

    await database.write(step)
    assert (runs, await added(database)) == (2, 2)


async def test_a_commit_that_may_have_happened_is_not_repeated(database: Database, postgres: Server) -> None:
    runs = 0

    def step(connection: Connection) -> None:
        nonlocal runs
        runs += 1
        connection.execute(insert(audit), _ROW)
        end_connections(postgres, database)

    with pytest.raises(StorageFault):
        await database.write(step)
    assert (runs, await added(database)) == (1, 0)


async def test_connections_are_kept(database: Database) -> None:
    before = await process_ids(database)
    assert len(before) == CONNECTIONS - 1
    for _ in range(3):
        await asyncio.gather(*(database.write(lambda c: c.exec_driver_sql("select 1")) for _ in range(50)))
    after = await process_ids(database)
    assert len(before | after) <= CONNECTIONS


async def test_a_write_is_a_transaction_and_a_read_needs_none(database: Database) -> None:
    def times(connection: Connection) -> int:
        """The number of transactions that two statements run in; each has its own time."""
        return len({connection.exec_driver_sql("select now()").scalar() for _ in range(2)})

    assert await database.write(times) == 1
    assert await database.read(times) == 2


def transaction(connection: Connection) -> str:
    return str(connection.exec_driver_sql("select pg_current_xact_id()").scalar_one())


async def test_writes_that_are_not_urgent_share_a_transaction(database: Database) -> None:
    numbers = await asyncio.gather(*(database.write(transaction, urgent=False) for _ in range(10)))
    assert len(set(numbers)) == 1
    later = await database.write(transaction, urgent=False)
    assert later not in numbers
    assert await database.write(transaction) != later


async def test_a_write_that_fails_does_not_undo_those_that_shared_its_transaction(database: Database) -> None:
    def fails(connection: Connection) -> None:
        connection.execute(insert(audit), {**_ROW, "actor": None})

    def adds(connection: Connection) -> None:
        connection.execute(insert(audit), _ROW)

    steps = (adds, fails, adds, adds)
    results = await asyncio.gather(*(database.write(each, urgent=False) for each in steps), return_exceptions=True)
    assert [type(each) for each in results] == [type(None), IntegrityError, type(None), type(None)]
    assert await added(database) == 3


async def test_a_cancelled_write_does_not_keep_back_those_that_wait_with_it(database: Database) -> None:
    first, second = (asyncio.create_task(database.write(transaction, urgent=False)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert first.cancelled()


async def test_waiting_writes_are_stored_before_the_database_closes(database: Database, postgres: Server) -> None:
    waiting = asyncio.create_task(database.write(lambda c: c.execute(insert(audit), _ROW), urgent=False))
    await asyncio.sleep(0)
    await database.close()
    await waiting
    assert await added(database) == 1


async def test_of_two_steps_that_wait_for_each_other_one_runs_again(database: Database) -> None:
    both = asyncio.Barrier(2)
    runs: list[str] = []

    def step(first: str, second: str, connection: Connection) -> None:
        runs.append(first)
        connection.execute(_SET, {"key_": first, "value_": f"{first}{second}"})
        if len(runs) <= 2:
            await_only(both.wait())  # each has locked its first row
        connection.execute(_SET, {"key_": second, "value_": f"{first}{second}"})

    for key in "ab":
        await SqlState(database).put(key, "")
    await asyncio.gather(*(database.write(partial(step, *keys)) for keys in ("ab", "ba")))
    assert len(runs) == 3
    assert await SqlState(database).get("a") == await SqlState(database).get("b")


@pytest.mark.parametrize(
    "statement",
    [
        insert(audit).values(_ROW | {"at": "secret"}),
        insert(audit).values(_ROW | {"detail": "\udc00secret"}),
        text("select 'secret'::int"),
    ],
)
async def test_a_value_that_can_not_be_stored_is_hidden(database: Database, statement: Executable) -> None:
    with pytest.raises(StorageFault, match=r"\(a value can't be stored\)$"):
        await database.write(lambda c: c.execute(statement))


async def test_a_duplicate_key_is_hidden(database: Database) -> None:
    statement = insert(state).values(key="secret", value="v")
    await database.write(lambda c: c.execute(statement))
    with pytest.raises(IntegrityError) as raised:
        await database.write(lambda c: c.execute(statement))
    driver: BaseException | None = raised.value
    while driver is not None and "DETAIL" not in str(driver):
        driver = driver.__cause__
    assert driver is not None
    assert "secret" in str(driver)
    words = 'duplicate key value violates unique constraint "pk_state"'
    assert [driver_message(each) for each in (raised.value, driver)] == [words, words]
