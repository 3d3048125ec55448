"""Our own claims: a consumer claims conversations, gets all their messages, and runs each conversation in order.

A row of `processes` is a consumer that lives, a row of `claims` a conversation that it holds. A consumer that counts as
dead loses its conversations to others; `worker` in the row of a message then names another one, so that the late one
can't finish it. PostgreSQL's clock alone decides who is dead.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from benchmarks.queues.contender import (
    ATTEMPTS,
    BEAT_SECONDS,
    DEAD_SECONDS,
    RETRY_SECONDS,
    TOGETHER,
    Failed,
    Job,
    Message,
    Put,
)

CHANNEL = "tierbot_wake"
WAKE_SECONDS = 0.01
"""Between two notifications of a front."""
LOOK_SECONDS = 1.0
"""A consumer looks by itself, in case that a notification is lost."""
IDLE_SECONDS = 1.0
"""A conversation without messages is given back. So short that the figures contain it."""
OWNED = 256
"""Messages of conversations that are held already, at a time."""
INDEXES = {"enable_seqscan": "off", "jit": "off"}
"""The planner may have seen the tables while they were empty, and would then read all rows for each."""

TABLES = """
create table processes (
    id bigserial primary key, name varchar(64) not null unique, beat_at timestamptz not null
) with (fillfactor = 70);
create table claims (chat varchar(100) primary key, process_id bigint not null,
    since timestamptz not null default now());
create index ix_claims_process on claims (process_id);
create table inbox (
    id bigserial primary key, platform varchar(32) not null, bot_id varchar(64) not null,
    update_id varchar(64) not null, chat varchar(100) not null, payload text not null,
    state varchar(16) not null default 'waiting', attempts integer not null default 0,
    placeholder varchar(64) not null default '', received_at double precision not null,
    fixed text not null default '', worker bigint, unique (update_id, bot_id, platform)
) with (fillfactor = 70);
create index ix_inbox_free on inbox (id) where state = 'waiting' and worker is null;
create index ix_inbox_chat on inbox (chat, id) where state = 'waiting';
"""
ACCEPT = """
insert into inbox (platform, bot_id, update_id, chat, payload, received_at)
select 'telegram', '1', u, c, p, $4 from unnest($1::text[], $2::text[], $3::text[]) as new (u, c, p)
on conflict (platform, bot_id, update_id) do nothing returning id
"""
REGISTER = """
with old as (select id from processes where name = $1),
new as (insert into processes (name, beat_at) values ($1, clock_timestamp())
        on conflict (name) do update set id = nextval('processes_id_seq'), beat_at = excluded.beat_at returning id),
moved as (update claims set process_id = (select id from new) where process_id in (select id from old)),
freed as (update inbox set worker = null where state = 'waiting' and worker in (select id from old))
select id from new
"""
BEAT = "update processes set beat_at = clock_timestamp() where id = $1 returning id"
CLAIM = """
with dead as (select id from processes where $4 and beat_at < clock_timestamp() - make_interval(secs => $3)),
stolen as (update claims c set process_id = $1, since = now() from
    (select chat from claims where process_id = any(array(select id from dead)) limit $2 for update skip locked) d
    where c.chat = d.chat returning c.chat),
fresh as (insert into claims (chat, process_id) select chat, $1 from
    (select distinct chat from
        (select chat from inbox i where state = 'waiting' and worker is null
            and (select process_id from claims c where c.chat = i.chat) is null order by id limit $2) w order by 1) o
    on conflict do nothing returning chat),
own as (select distinct chat from
    (select chat from inbox where state = 'waiting' and worker is null order by id limit $5) i
    where (select process_id from claims c where c.chat = i.chat) = $1),
held as (select * from stolen union select * from fresh union select * from own),
taken as (select i.id from held h cross join lateral
    (select id from inbox where chat = h.chat and state = 'waiting' offset 0) i)
update inbox set worker = $1, attempts = attempts + (worker is not null)::int
where id = any(array(select id from taken)) and state = 'waiting' and worker is distinct from $1
returning id, chat, payload
"""
RELEASE = """
delete from claims c where process_id = $1 and chat = any($2)
    and not exists (select 1 from inbox i where i.chat = c.chat and i.state = 'waiting')
returning chat
"""
FINISH = """
update inbox set state = 'done' where id = any($1) and state = 'waiting' and worker = $2 returning id
"""
FINISH_AND_STORE = """
with finished as (update inbox set state = 'done' where id = any($1) and state = 'waiting' and worker = $2 returning *)
insert into results (message) select update_id::int from finished
"""


class Plain:
    """`grouped`: what ends while a commit is under way shares the next one; else each message has its own commit, as a
    turn has."""

    def __init__(self, grouped: bool) -> None:
        self._grouped = grouped
        commit = "shared commits" if grouped else "a commit for each message"
        self.settings = (
            f"{commit}, NOTIFY after the commit, at most each {WAKE_SECONDS * 1e3:.0f} ms, a look each second beside "
            f"it, conversations given back after {IDLE_SECONDS:g} s without messages"
        )

    async def create(self, dsn: str) -> None:
        connection = await asyncpg.connect(dsn)
        await connection.execute(TABLES)
        await connection.close()

    @asynccontextmanager
    async def front(self, dsn: str) -> AsyncIterator[Put]:
        async with asyncpg.create_pool(dsn, min_size=2, max_size=2) as pool:
            waking: list[asyncio.Task[None]] = []

            async def put(messages: Sequence[Message]) -> None:
                columns = [(str(each.index), f"telegram:{each.conversation}", each.text()) for each in messages]
                await pool.execute(ACCEPT, *map(list, zip(*columns, strict=True)), time.time())
                if not waking or waking[0].done():
                    waking[:] = [asyncio.create_task(_wake(pool))]

            yield put
            await asyncio.gather(*waking)

    async def consume(self, dsn: str, job: Job, ready: Callable[[], None]) -> None:
        async with asyncpg.create_pool(dsn, min_size=4, max_size=10, server_settings=INDEXES) as pool:
            await Consumer(pool, dsn, job, self._grouped).run(ready)


async def _wake(pool: Any) -> None:
    await pool.execute("select pg_notify($1, '')", CHANNEL)
    await asyncio.sleep(WAKE_SECONDS)
    await pool.execute("select pg_notify($1, '')", CHANNEL)


class Consumer:
    """One process. All its conversations go on at once, up to TOGETHER messages."""

    def __init__(self, pool: Any, dsn: str, job: Job, grouped: bool) -> None:
        self._pool = pool
        self._dsn = dsn
        self._job = job
        self._finish = FINISH_AND_STORE if job.stores else FINISH
        self._store = self._grouped if grouped else self._alone
        self._chats: defaultdict[str, deque[tuple[int, str]]] = defaultdict(deque)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._idle: dict[str, float] = {}
        self._together = asyncio.Semaphore(TOGETHER)
        self._look = asyncio.Event()
        self._ended: list[int] = []
        self._commit: asyncio.Task[None] | None = None
        self._id = 0
        self._valid_until = self._steady_since = self._released = 0.0

    async def run(self, ready: Callable[[], None]) -> None:
        """Until the process is killed or loses the database."""
        listener = await asyncpg.connect(self._dsn)
        await listener.add_listener(CHANNEL, lambda *_: self._look.set())
        await self._register()
        ready()
        await asyncio.gather(self._beats(listener), self._claims())

    async def _register(self) -> None:
        began = time.monotonic()
        self._id = await self._pool.fetchval(REGISTER, f"consumer {self._job.slot}")
        self._steady_since, self._valid_until = began, began + DEAD_SECONDS - 1

    async def _beats(self, connection: Any) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            began = time.monotonic()
            known = await connection.fetchval(BEAT, self._id)
            if known and began < self._valid_until:
                self._valid_until = began + DEAD_SECONDS - 1
                continue
            running = list(self._running.values())  # others may hold these conversations by now
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._chats.clear()
            self._idle.clear()
            await self._register()

    async def _claims(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), LOOK_SECONDS)
            self._look.clear()
            if time.monotonic() - self._released > IDLE_SECONDS:
                await self._release()
            room = max(0, TOGETHER - len(self._running))
            steady = time.monotonic() - self._steady_since > DEAD_SECONDS
            rows = await self._pool.fetch(CLAIM, self._id, room, DEAD_SECONDS, steady, OWNED)
            for row in sorted(rows, key=lambda row: row["id"]):
                self._take(row["chat"], row["id"], row["payload"])
            if rows:
                self._look.set()

    def _take(self, chat: str, row: int, payload: str) -> None:
        self._chats[chat].append((row, payload))
        if chat not in self._running:
            self._idle.pop(chat, None)
            self._running[chat] = asyncio.create_task(self._run(chat))

    async def _run(self, chat: str) -> None:
        me = self._id
        try:
            while waiting := self._chats[chat]:
                row, payload = waiting.popleft()
                async with self._together:
                    await self._attempts(payload)
                    await self._store(row, me)
        finally:
            del self._running[chat]
            self._idle[chat] = time.monotonic()
            if len(self._running) < TOGETHER:
                self._look.set()

    async def _attempts(self, payload: str) -> None:
        for _ in range(ATTEMPTS):
            try:
                await self._job.run(payload)
            except Failed:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _alone(self, row: int, me: int) -> None:
        await self._pool.execute(self._finish, [row], me)

    async def _grouped(self, row: int, me: int) -> None:
        self._ended.append(row)
        while row in self._ended:
            if self._commit is None or self._commit.done():
                self._commit = asyncio.create_task(self._shared(me))
            await asyncio.shield(self._commit)

    async def _shared(self, me: int) -> None:
        rows = self._ended.copy()
        await self._pool.execute(self._finish, rows, me)
        del self._ended[: len(rows)]

    async def _release(self) -> None:
        self._released = time.monotonic()
        before = self._released - IDLE_SECONDS
        idle = [chat for chat, since in self._idle.items() if since < before]
        for row in await self._pool.fetch(RELEASE, self._id, idle) if idle else ():
            del self._idle[row["chat"]]
            del self._chats[row["chat"]]


QUEUE = Plain(grouped=False)
GROUPED = Plain(grouped=True)
