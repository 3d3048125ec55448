"""A database with a year of messages, and all else that people leave, as large as asked for."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Integer, cast, func, insert, select

from benchmarks.databases import MODELS
from routing.types.memory import MAX_FACTS
from routing.types.messages import ChatKey
from routing.types.tiers import TIERS
from storage.database import open_database
from storage.database.migrate import migrate
from storage.schema import (
    conversations,
    facts,
    identities,
    inbox,
    messages,
    outbox,
    people,
    pieces,
    schedules,
    service_accounts,
    turns,
    usage,
)
from storage.stores import Stores, open_stores
from storage.usage.hours import HOUR, KEYS, TURNS, USAGE, HourlySums

EACH = 1_000
"""Messages of a person."""
CONVERSATIONS = 10
"""Conversations of a person."""
ACTIVE = 100
"""Conversations that go on at the same time."""
FACTS, FULL_EVERY = 20, 50
"""Facts about a person, and which share of people has MAX_FACTS: one in 50."""
ACCOUNT_KINDS = {"calendar": 2, "email": 4}
"""One in so many people has connected such an account."""
SCHEDULES = 10
"""Reminders and tasks of a person, none of them due within a day."""
DAY, YEAR = 86_400.0, 365 * 86_400.0
WORDS = "some words " * 10
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Filled:
    """Filled stores. People have the ids 1 to `people`, conversations 1 to `conversations`."""

    stores: Stores
    people: int
    conversations: int
    now: float

    def person(self, number: int) -> int:
        return random.Random(number).randrange(self.people) + 1

    def full_person(self, number: int) -> int:
        """Someone with MAX_FACTS facts."""
        return (self.person(number) - 1) // FULL_EVERY * FULL_EVERY + 1

    def conversation(self, number: int) -> int:
        return random.Random(number).randrange(self.conversations) + 1

    def chat(self, number: int) -> ChatKey:
        return ChatKey("telegram", str(self.person(number)))


def rows(count: int, now: float) -> Iterator[tuple[int, int, int, float]]:
    """Number, person, conversation and time of each turn; concurrent conversations alternate."""
    everyone, talks = max(1, count // EACH), max(1, count * CONVERSATIONS // EACH)
    active, length = min(ACTIVE, talks), count // 2 // talks
    number = itertools.count()
    for first in range(0, talks, active):
        for _, talk in itertools.product(range(length), range(first, first + active)):
            n = next(number)
            yield n, talk % everyone + 1, talk + 1, now - YEAR * (1 - n / (count / 2))


def fill(connection: Connection, count: int, now: float) -> tuple[int, int]:
    """Inserts `count` messages of a year into an empty database. Returns the numbers of people and conversations."""
    everyone, talks = max(1, count // EACH), max(1, count * CONVERSATIONS // EACH)
    names: list[Row] = [
        {"id": n + 1, "name": f"Person {n}", "role": "user" if n else "owner", "created_at": now}
        for n in range(everyone)
    ]
    accounts: list[Row] = [
        {"platform": "telegram", "user_id": str(n + 1), "person_id": n + 1, "username": f"name{n}"}
        for n in range(everyone)
    ]
    talked: list[Row] = [
        {"id": n + 1, "platform": "telegram", "chat_id": str(n % everyone + 1), "thread_id": "", "started_at": now}
        | {"ended_at": None if n + everyone >= talks else now}
        for n in range(talks)
    ]
    for table, known in ((people, names), (identities, accounts), (conversations, talked)):
        connection.execute(insert(table), known)
    _insert_belongings(connection, everyone, now)
    made = rows(count, now)
    while batch := tuple(itertools.islice(made, 10_000)):
        _insert(connection, batch, now)
    for sums in (USAGE, TURNS):
        _sum(connection, sums)
    return everyone, talks


def _insert_belongings(connection: Connection, everyone: int, now: float) -> None:
    """The facts, accounts and schedules of all people."""
    fact_rows, account_rows, schedule_rows = [list[Row]() for _ in range(3)]
    for n in range(everyone):
        mine: Row = {"person_id": n + 1}
        wrote: Row = mine | {"at": now, "author": "person", "conversation_id": 0, "turn_id": "", "sources": "[]"}
        fact_rows += (
            wrote | {"text": f"My {WORDS[:40]}{number} is called {n}", "pinned": number < 2}
            for number in range(MAX_FACTS if n % FULL_EVERY == 0 else FACTS)
        )
        account_rows += (
            mine
            | {"kind": kind, "label": f"name{n}@example.org", "details": '{"address":"https://example.org/"}'}
            | {"sealed": "g" * 120, "created_at": now, "tested_at": now}
            for kind, every in ACCOUNT_KINDS.items()
            if n % every == 0
        )
        where: Row = mine | {"platform": "telegram", "chat_id": str(n + 1), "thread_id": "", "private": True}
        schedule_rows += (
            where
            | {"kind": "prompt" if number % 2 else "reminder", "text": WORDS, "rule": "0 8 * * *" if number % 2 else ""}
            | {"time_zone": "UTC", "next_at": now + DAY * (2 + number + n / everyone), "created_at": now, "failures": 0}
            | {"state": "paused" if number == 1 else "active"}
            for number in range(SCHEDULES)
        )
    for table, made in ((facts, fact_rows), (service_accounts, account_rows), (schedules, schedule_rows)):
        connection.execute(insert(table), made)


def _insert(connection: Connection, batch: Sequence[tuple[int, int, int, float]], now: float) -> None:
    message_rows, usage_rows, turn_rows, inbox_rows, outbox_rows, piece_rows = [list[Row]() for _ in range(6)]
    for n, person, talk, at in batch:
        turn_id, tier, model, seconds = f"{n:08x}", TIERS[n % 4], MODELS[n % 4], 1.0 + n % 97 / 10
        mine: Row = {"person_id": person, "turn_id": turn_id, "at": at}
        here: Row = mine | {"conversation_id": talk}
        message_rows += (here | {"role": role, "text": WORDS} for role in ("user", "assistant"))
        usage_rows.append(
            here
            | {"tier": tier, "model": model, "input_tokens": 900, "output_tokens": 200, "cached_tokens": 0}
            | {"cost_nano": 1_000_000, "held_nano": None, "seconds": seconds}
        )
        turn_rows.append(
            mine
            | {"tier": tier, "source": "default", "model": model, "failed": "[]", "fallback": False}
            | {"timed_out": False, "escalated": False, "seconds": seconds, "first_token_seconds": 0.5}
            | {"cost_nano": 1_000_000, "unknown": 0, "rating": None}
        )
        if at > now - 2 * DAY:
            key = {"platform": "telegram", "bot_id": "1", "update_id": f"old {n}"}
            inbox_rows.append(key | {"payload": "", "state": "done", "received_at": at})
        if at > now - 7 * DAY:
            where = {"id": n + 1, "platform": "telegram", "chat_id": str(person), "thread_id": "", "turn_id": turn_id}
            payload = f'{{"chat":["telegram","{person}"],"text":"{WORDS}","owner":{person}}}'
            outbox_rows.append(where | {"payload": payload, "state": "sent", "created_at": at})
            piece_rows.append({"outbox_id": n + 1, "message_id": str(n)})
    for table, made in (
        (messages, message_rows),
        (usage, usage_rows),
        (turns, turn_rows),
        (inbox, inbox_rows),
        (outbox, outbox_rows),
        (pieces, piece_rows),
    ):
        if made:
            connection.execute(insert(table), made)


def _sum(connection: Connection, of: HourlySums) -> None:
    """Fills a table of hourly sums."""
    keys = {name: value for name, value in of.values.items() if name in KEYS}
    keys["hour"] = cast(of.rows.c.at / HOUR, Integer)
    sums = {name: func.sum(value) for name, value in of.values.items() if name not in KEYS}
    query = select(*keys.values(), *sums.values()).group_by(*keys.values())
    connection.execute(insert(of.hours).from_select([*keys, *sums], query))


async def filled(file: Path, size: int) -> Filled:
    """A new SQLite database with this many messages; its folder must exist."""
    url = f"sqlite:///{file}"
    await asyncio.to_thread(migrate, url, file.parent)
    database = open_database(url)
    now = time.time()
    everyone, talks = await database.write(lambda c: fill(c, size, now))
    return Filled(open_stores(database, time.time), everyone, talks, now)
