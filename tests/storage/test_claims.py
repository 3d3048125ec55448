"""Several processes on one PostgreSQL: each chat is with one of them, and a late one stores nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from sqlalchemy import Connection, Table, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, ProgrammingError

from handlers.storage_retry import retry_storage
from routing.errors import CommitUnknown
from routing.types.lease import Lease, LeaseLost
from routing.types.messages import ChatKey, OutboundMessage, UserKey
from storage.claims import FORGET_SECONDS, SqlClaims
from storage.database import parse_url
from storage.database.postgres import PostgresDatabase
from storage.postgres_schema import DEAD_SECONDS
from storage.schema import claims, inbox, messages, outbox, processes, state
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.postgres import Server
from tests.storage.database.test_postgres import control
from tests.storage.samples import ANN, HOME, OTHER, message, record

pytestmark = pytest.mark.system
PLATFORMS = ("telegram",)
MOST = 64


@dataclass(slots=True)
class Process:
    database: PostgresDatabase
    lease: Lease
    claims: SqlClaims
    stores: Stores

    async def claim(self, dead: bool = False) -> frozenset[str]:
        return await self.claims.claim(PLATFORMS, MOST, dead)


@pytest.fixture
async def two(postgres: Server, clock: ManualClock) -> AsyncIterator[tuple[Process, Process]]:
    url, made = postgres.copy(), []
    for name in ("one", "other"):
        database, lease = PostgresDatabase(parse_url(url)), Lease()
        made.append(Process(database, lease, SqlClaims(database, lease), open_stores(database, clock, lease=lease)))
        await made[-1].claims.register(name, starting=True)
    one, other = made
    yield one, other
    for each in made:
        await each.database.close()


async def silent(process: Process) -> None:
    """Its last heartbeat was long ago."""
    long_ago = update(processes).where(processes.c.id == process.lease.process_id)
    await process.database.write(lambda c: c.execute(long_ago.values(beat_at=processes.c.beat_at - DEAD_SECONDS - 1)))


async def count(process: Process, table: Table) -> int:
    return await process.database.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())


async def test_no_chat_is_with_two_processes(two: tuple[Process, Process]) -> None:
    one, other = two
    chats = [ChatKey("telegram", str(number)) for number in range(200)]
    await one.stores.inbox.accept([message(f"{each}-{chat.chat_id}", chat=chat) for each in range(3) for chat in chats])

    async def work(process: Process) -> list[str]:
        found: list[str] = []
        while claimed := await process.claim():
            found += [each.message.chat.chat_id for each in (await process.claims.take(claimed)).messages]
        return found

    mine, theirs = await asyncio.gather(*map(work, two))
    assert set(mine).isdisjoint(theirs)
    assert len(mine) + len(theirs) == 600
    assert await count(one, claims) == 200
    assert set(one.lease.chats).isdisjoint(other.lease.chats)


async def test_what_waits_in_a_chat_comes_in_order_and_once(two: tuple[Process, Process]) -> None:
    one, other = two
    await one.stores.inbox.accept([message("1"), message("2", chat=OTHER), message("3")])
    assert await one.claim() == {HOME.claim, OTHER.claim}
    first = (await one.claims.take(one.lease.chats)).messages
    assert [each.message.update_id for each in first] == ["1", "2", "3"]
    assert {each.attempts for each in first} == {0}
    await other.stores.inbox.accept([message("4")])
    assert await other.claim() == frozenset()
    assert (await other.claims.take([HOME.claim])).messages == ()
    assert [each.message.update_id for each in (await one.claims.take([HOME.claim])).messages] == ["4"]
    assert (await one.claims.take([HOME.claim])).messages == ()


async def test_other_platforms_are_left_alone(two: tuple[Process, Process]) -> None:
    one, _ = two
    await one.stores.inbox.accept([message("1", chat=ChatKey("discord", "1"))])
    await one.stores.outbox.add([OutboundMessage(ChatKey("discord", "2"), "hi")])
    assert await one.claim(dead=True) == frozenset()


async def test_the_chats_of_a_silent_process_go_to_another_one(two: tuple[Process, Process]) -> None:
    one, other = two
    (entry,) = await one.stores.inbox.accept([message("1")])
    await one.claim()
    await one.claims.take(one.lease.chats)
    (begun,) = await one.stores.outbox.add([OutboundMessage(HOME, "hi")])
    await one.stores.outbox.attempting(begun.id)
    await other.claims.look_for_dead()
    assert await other.claim(dead=True) == frozenset(), "it lives"
    await silent(one)
    await other.claims.look_for_dead()
    assert await other.claim(dead=True) == {HOME.claim}
    taken = await other.claims.take([HOME.claim])
    assert [(each.id, each.attempts) for each in taken.messages] == [(entry.id, 1)]
    assert [(each.id, each.state) for each in taken.replies] == [(begun.id, "attempting")]
    assert not await one.claims.beat()
    await other.stores.inbox.accept([message("2", chat=OTHER)])
    assert await one.claim(dead=True) == frozenset(), "it was taken for dead"
    assert await other.claim() == {OTHER.claim}


async def test_a_late_process_stores_nothing(two: tuple[Process, Process]) -> None:
    one, other = two
    person = (await one.stores.people.admit(ANN, "Ann", "owner", "t")).id
    here = (await one.stores.history.current(HOME)).id
    (entry,) = await one.stores.inbox.accept([message("1")])
    await one.claim()
    await one.claims.take(one.lease.chats)
    (reply,) = await one.stores.outbox.add([OutboundMessage(HOME, "hi")])
    await silent(one)
    await other.claims.look_for_dead()
    await other.claims.take(await other.claim(dead=True))
    late = (
        one.stores.ledger.finish([entry.id], [OutboundMessage(HOME, "late")], record(here, person, "q", "a")),
        one.stores.inbox.begin([entry.id]),
        one.stores.inbox.placeholder(entry.id, "5"),
        one.stores.outbox.attempting(reply.id),
        one.stores.outbox.piece_sent(reply.id, 1, "5"),
        one.stores.outbox.retry_later(reply.id, 0.0, 1, ""),
        one.stores.outbox.dead(reply.id, ""),
        one.stores.outbox.redirect(reply.id, OutboundMessage(OTHER, "hi"), ""),
    )
    for step in late:
        one.lease.lost.clear()
        with pytest.raises(LeaseLost):
            await step
        assert one.lease.lost.is_set()
    await one.stores.outbox.sent(reply.id, "5")
    assert await count(one, messages) == 0
    assert [each.state for each in await other.stores.outbox.unsent()] == ["pending"]
    await other.stores.ledger.finish([entry.id], [OutboundMessage(HOME, "answer")], record(here, person, "q", "a"))
    assert [each.message.text for each in await other.stores.outbox.unsent()] == ["hi", "answer"]


async def test_a_late_reply_goes_to_the_next_process_with_its_chat(two: tuple[Process, Process]) -> None:
    one, other = two
    (entry,) = await one.stores.inbox.accept([message("1")])
    await one.claims.take(await one.claim())
    await silent(one)
    await other.claims.look_for_dead()
    await other.claims.take(await other.claim(dead=True))
    await other.stores.ledger.finish([entry.id], [])
    assert await other.claims.release([HOME.claim]) == {HOME.claim}
    (late,) = await one.stores.outbox.add([OutboundMessage(HOME, "a reminder")])
    with pytest.raises(LeaseLost):
        await one.stores.outbox.attempting(late.id)
    assert await other.claim() == {HOME.claim}
    assert [each.id for each in (await other.claims.take([HOME.claim])).replies] == [late.id]


async def test_a_transaction_of_a_frozen_process_holds_back_nobody(two: tuple[Process, Process]) -> None:
    """It can't be committed either."""
    one, other = two
    await one.stores.inbox.accept([message("1")])
    async with one.database._engine.connect() as connection:
        await connection.exec_driver_sql(f"insert into claims values ('{HOME.claim}', {one.lease.process_id})")
        assert await other.claim() == {HOME.claim}
        with pytest.raises(DBAPIError):
            await connection.commit()


async def test_the_next_process_in_a_workspace_goes_on_at_once(two: tuple[Process, Process]) -> None:
    one, other = two
    await one.stores.inbox.accept([message("1")])
    await one.claims.take(await one.claim())
    await other.claims.register("one", starting=True)
    assert await other.claim(dead=True) == {HOME.claim}
    assert [each.attempts for each in (await other.claims.take([HOME.claim])).messages] == [1]
    await one.claims.register("one", starting=False)
    assert one.lease.chats == ()
    assert await other.claims.beat(), "after its start, a process ends no other one of its name"


async def test_an_ended_process_is_forgotten_with_its_last_chat(two: tuple[Process, Process]) -> None:
    one, other = two
    await one.stores.inbox.accept([message("1")])
    await one.claim()
    await one.claims.end()
    await other.claims.look_for_dead()
    assert await count(other, processes) == 2
    assert await other.claim(dead=True) == {HOME.claim}
    await other.claims.look_for_dead()
    assert await count(other, processes) == 2
    ended = update(processes).where(processes.c.id == one.lease.process_id)
    await other.database.write(lambda c: c.execute(ended.values(beat_at=processes.c.beat_at + FORGET_SECONDS)))
    await other.claims.look_for_dead()
    assert await count(other, processes) == 1


async def test_only_chats_in_which_nothing_waits_are_given_back(two: tuple[Process, Process]) -> None:
    one, other = two
    third = ChatKey("telegram", "5")
    entries = await one.stores.inbox.accept([message("1"), message("2", chat=OTHER), message("3", chat=third)])
    await one.claims.take(await one.claim())
    (reply,) = await one.stores.outbox.add([OutboundMessage(HOME, "hi")])
    await one.stores.ledger.finish([entries[0].id], [])
    await one.stores.ledger.finish([entries[2].id], [])
    assert one.lease.unused(60.0) == ()
    assert await one.claims.release(one.lease.unused(-1.0)) == {third.claim}
    assert set(one.lease.chats) == {HOME.claim, OTHER.claim}
    await one.stores.outbox.sent(reply.id, "7")
    assert await one.claims.release(one.lease.unused(-1.0)) == {HOME.claim}
    await other.stores.inbox.accept([message("4")])
    assert await other.claim() == {HOME.claim}


async def test_chats_are_kept_if_giving_them_back_fails(two: tuple[Process, Process]) -> None:
    one, _ = two
    await one.stores.inbox.accept([message("1")])
    await one.claim()
    await one.database.write(lambda c: c.execute(text("alter table claims rename to renamed")))
    with pytest.raises(ProgrammingError):
        await one.claims.release(one.lease.unused(-1.0))
    assert one.lease.chats == (HOME.claim,)


async def test_a_reply_to_a_chat_of_another_process_is_sent_there(two: tuple[Process, Process]) -> None:
    one, other = two
    private = ChatKey.of(UserKey("telegram", HOME.chat_id))
    assert private.claim == HOME.claim
    await one.stores.inbox.accept([message("1")])
    await one.claims.take(await one.claim())
    (theirs,) = await other.stores.outbox.add([OutboundMessage(private, "a notice")])
    (free,) = await other.stores.outbox.add([OutboundMessage(OTHER, "a notice")])
    (mine,) = await one.stores.outbox.add([OutboundMessage(private, "a notice")])
    assert (theirs.held, free.held, mine.held) == (False, False, True)
    assert [each.id for each in (await one.claims.take([HOME.claim])).replies] == [theirs.id]
    assert await one.claim() == {OTHER.claim}
    assert [each.id for each in (await one.claims.take([OTHER.claim])).replies] == [free.id]
    moved = await one.stores.outbox.redirect(mine.id, OutboundMessage(ChatKey("telegram", "5"), "a notice"), "")
    assert not moved.held
    row = select(outbox.c.chat, outbox.c.worker).where(outbox.c.id == mine.id)
    assert await one.database.read(lambda c: tuple(c.execute(row).one())) == ("telegram:5", None)


async def test_a_damaged_row_holds_up_nothing(two: tuple[Process, Process]) -> None:
    one, other = two
    first, second, third = await other.stores.inbox.accept([message("1"), message("2"), message("3")])
    damage = update(inbox).values(payload="{")
    await other.database.write(lambda c: c.execute(damage.where(inbox.c.id == first.id)))
    assert [each.id for each in (await one.claims.take(await one.claim())).messages] == [second.id, third.id]
    await other.stores.inbox.accept([message("4")])
    await other.database.write(lambda c: c.execute(damage.where(inbox.c.update_id == "4")))
    assert [each.message.update_id for each in await one.stores.inbox.accept([message("5")])] == ["5"]
    damaged = select(inbox.c.update_id).where(inbox.c.state == "unreadable").order_by(inbox.c.id)
    assert await one.database.read(lambda c: c.execute(damaged).scalars().all()) == ["1", "4"]


async def test_a_message_in_a_held_chat_is_held_at_once_with_older_ones(two: tuple[Process, Process]) -> None:
    one, other = two
    await one.stores.inbox.accept([message("1")])
    await one.claims.take(await one.claim())
    (theirs,) = await other.stores.inbox.accept([message("2")])
    kept = await one.stores.inbox.accept([message("3"), message("4", chat=OTHER)])
    assert [(each.message.update_id, each.held) for each in kept] == [("2", True), ("3", True), ("4", False)]
    assert (theirs.held, kept[0].id) == (False, theirs.id)
    assert (await one.claims.take([HOME.claim])).messages == ()
    await silent(one)
    await other.claims.look_for_dead()
    await other.claim(dead=True)
    (late,) = await one.stores.inbox.accept([message("5")])
    assert not late.held, "another process has the chat by now"


async def test_a_commit_that_may_have_happened_ends_the_lease(two: tuple[Process, Process], postgres: Server) -> None:
    one, _ = two
    end = text(
        f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{one.database._engine.url.database}'"
    )

    def step(connection: Connection) -> None:
        connection.execute(insert(state), {"key": "a", "value": "b"})
        postgres.sql(str(end))

    with pytest.raises(CommitUnknown):
        await one.database.write(step)
    assert one.lease.lost.is_set()


async def test_claims_outlive_the_server(two: tuple[Process, Process], postgres: Server) -> None:
    one, other = two
    (entry,) = await one.stores.inbox.accept([message("1")])
    await one.claims.take(await one.claim())
    await asyncio.to_thread(control, postgres, "restart")
    assert await retry_storage(one.claims.beat) == 2
    assert await other.claim(dead=True) == frozenset()
    await one.stores.ledger.finish([entry.id], [])
