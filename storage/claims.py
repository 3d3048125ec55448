"""Chats claimed by processes that share a PostgreSQL database. Its clock alone decides who is dead."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, TextClause, text

from routing.types.lease import Lease
from routing.types.queues import Claimed, InboxEntry
from storage.database import Database
from storage.database.postgres import PostgresDatabase
from storage.inbox import read_message
from storage.outbox import read_reply
from storage.postgres_schema import DEAD_SECONDS, UNSENT
from storage.schema import inbox, outbox
from storage.unreadable import readable

FORGET_SECONDS = 60.0
"""After its end, a process has no more transactions that could claim a chat."""
_NOW = "extract(epoch from clock_timestamp())"
_INDEXES = text("select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)")
"""The planner may have seen the tables while they were empty, and would then read all rows for each."""
_REGISTER = text(f"""
with ended as (update processes set beat_at = -{_NOW} where id = :before or (:starting and name = :name))
insert into processes (name, beat_at) values (:name, {_NOW}) returning id
""")
_BEAT = f"""
update processes set beat_at = {_NOW} where id = $1 and beat_at > 0
returning (select count(*) from processes where beat_at > 0)
"""
_TELL = "select pg_notify($1, $2)"
WAKE = "tierbot_wake"
"""The channel that names chats for which something was stored."""
_MOST_NAMED = 50
"""Chats in a notification, which has at most 8,000 bytes."""
_LOOK_FOR_DEAD = text(f"""
with dead as (update processes set beat_at = -{_NOW} where beat_at > 0 and beat_at < {_NOW} - {DEAD_SECONDS})
delete from processes where beat_at < 0 and beat_at > {FORGET_SECONDS} - {_NOW}
    and not exists (select from claims where process_id = processes.id)
""")
_I_LIVE = "exists (select from processes where id = :me and beat_at > 0)"
_OF_DEAD = text(f"""
update claims set process_id = :me where {_I_LIVE} and chat = any(array(
    select chat from claims where process_id = any(array(select id from processes where beat_at < 0))
    and split_part(chat, ':', 1) = any(:platforms) limit :most for update skip locked))
returning chat
""")
_UNCLAIMED = text(f"""
insert into claims (chat, process_id) select chat, cast(:me as bigint) from (select distinct chat from (
    (select chat from inbox where state = 'waiting' and worker is null and platform = any(:platforms)
        and (select process_id from claims where claims.chat = inbox.chat) is null order by id limit :most)
    union all
    (select chat from outbox where {UNSENT} and worker is null and platform = any(:platforms)
        and (select process_id from claims where claims.chat = outbox.chat) is null order by id limit :most)
) waiting order by chat limit :most) found where {_I_LIVE}
on conflict do nothing returning chat
""")
"""In order, so that no two of these wait for each other. Without a lock on what waits, for the same reason."""


def _take(table: str, state: str) -> TextClause:
    return text(f"""
with found as (select waiting.id, waiting.worker as before from
    (select chat from claims where chat = any(:chats) and process_id = :me) mine
    cross join lateral (select id, worker from {table} where chat = mine.chat and {state}
        and worker is distinct from :me offset 0) waiting)
update {table} set worker = :me from found where {table}.id = found.id and {state}
    and {table}.worker is distinct from :me
returning {table}.*, found.before
""")


_TAKE_MESSAGES, _TAKE_REPLIES = _take("inbox", "state = 'waiting'"), _take("outbox", UNSENT)
_RELEASE = text(f"""
delete from claims where process_id = :me and chat = any(:chats)
    and not exists (select from inbox where inbox.chat = claims.chat and state = 'waiting')
    and not exists (select from outbox where outbox.chat = claims.chat and {UNSENT})
returning chat
""")
_END = text(f"update processes set beat_at = -{_NOW} where id = :me")


class SqlClaims:
    """Implements `routing.ports.ClaimStore`."""

    def __init__(self, database: PostgresDatabase, lease: Lease) -> None:
        self._database = database
        self._lease = lease
        self._heard: Callable[[Collection[str]], object] = lambda chats: None
        database.commit_unknown = lease.lost.set
        database.listener.hear(WAKE, lambda _, chats: self._heard(chats.split()))

    async def register(self, name: str, starting: bool) -> None:
        self._database.listener.start()
        now = self._lease.now()
        values = {"name": name, "starting": starting, "before": self._lease.process_id}
        process_id = await self._database.write(lambda c: c.execute(_REGISTER, values).scalar_one())
        self._lease.begin(process_id, now)

    async def beat(self) -> int:
        now = self._lease.now()
        living = int(await self._database.listener.ask(_BEAT, self._lease.process_id) or 0)
        if living:
            self._lease.renew(now)
        return living

    def hear(self, heard: Callable[[Collection[str]], object]) -> None:
        self._heard = heard

    async def tell(self, chats: Collection[str]) -> None:
        named = " ".join(chats) if len(chats) <= _MOST_NAMED else ""
        await self._database.listener.ask(_TELL, WAKE, named)

    async def look_for_dead(self) -> None:
        await self._database.write(lambda c: c.execute(_LOOK_FOR_DEAD))

    async def claim(self, platforms: Collection[str], most: int, dead: bool) -> frozenset[str]:
        values = {"platforms": list(platforms), "most": most} | self._me()

        def step(connection: Connection) -> frozenset[str]:
            connection.execute(_INDEXES)
            found = connection.execute(_OF_DEAD, values).scalars().all() if dead else ()
            return frozenset([*found, *connection.execute(_UNCLAIMED, values).scalars()])

        claimed = await self._database.write(step)
        self._lease.add(claimed)
        return claimed

    async def take(self, chats: Collection[str]) -> Claimed:
        values = {"chats": list(chats)} | self._me()

        def step(connection: Connection) -> Claimed:
            connection.execute(_INDEXES)
            messages = readable(connection, inbox, connection.execute(_TAKE_MESSAGES, values), _message)
            replies = readable(connection, outbox, connection.execute(_TAKE_REPLIES, values), read_reply)
            return Claimed(
                tuple(sorted(messages, key=lambda each: each.id)), tuple(sorted(replies, key=lambda each: each.id))
            )

        return await self._database.write(step)

    async def release(self, chats: Collection[str]) -> frozenset[str]:
        values = {"chats": list(chats)} | self._me()
        released: frozenset[str] = frozenset()
        try:
            released = frozenset(await self._database.write(lambda c: c.execute(_RELEASE, values).scalars().all()))
        finally:
            self._lease.add(set(chats) - released)
        return released

    async def end(self) -> None:
        await self._database.write(lambda c: c.execute(_END, self._me()))

    def _me(self) -> dict[str, Any]:
        return {"me": self._lease.process_id}


def open_claims(database: Database, lease: Lease) -> SqlClaims:
    """The claims in a PostgreSQL database."""
    assert isinstance(database, PostgresDatabase)
    return SqlClaims(database, lease)


def _message(row: Row[Any]) -> InboxEntry:
    """With one more attempt than the store has if another process may have begun it."""
    entry = read_message(row)
    return entry if row.before is None else replace(entry, attempts=entry.attempts + 1)
