"""Hourly sums equal the sums of the rows after every change, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import random
from decimal import Decimal
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Table, func, select

from routing.types.decisions import TierSource
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import Usage
from routing.types.messages import UserKey
from routing.types.tiers import TIERS
from routing.types.usage import CallRecord, Rating
from storage.database import Database, migrate, parse_url
from storage.schema import turn_hours, usage_hours
from storage.stores import Stores, open_stores
from storage.usage.hours import HOUR, KEYS, TURNS, USAGE, HourlySums
from tests.fakes import ManualClock
from tests.storage.samples import HOME, OTHER

Sums = dict[tuple[object, ...], tuple[float, ...]]


def by_hour(connection: Connection, table: Table) -> Sums:
    """The stored sums, added up by key."""
    kept = table.c[*(column.name for column in table.c if column.name != "id")]
    return added([dict(row) for row in connection.execute(select(*kept)).mappings()])


def by_row(connection: Connection, of: HourlySums) -> Sums:
    """The sums computed from the rows."""
    columns = [of.rows.c.at, *(value.label(name) for name, value in of.values.items())]
    found = [dict(row) for row in connection.execute(select(*columns)).mappings()]
    return added([{"hour": int(row.pop("at") // HOUR), **row} for row in found])


def added(rows: list[dict[str, Any]]) -> Sums:
    sums: Sums = {}
    for row in rows:
        key = tuple(row[name] for name in KEYS if name in row)
        more = tuple(row[name] for name in row if name not in KEYS)
        sums[key] = tuple(map(sum, zip(sums.get(key, (0,) * len(more)), more, strict=True)))
    return sums


def differing(connection: Connection) -> list[str]:
    """The sum tables that differ from their rows."""
    both = (USAGE, TURNS)
    return [each.hours.name for each in both if by_hour(connection, each.hours) != by_row(connection, each)]


async def some_turn(stores: Stores, chance: random.Random, person: int, turn_id: str) -> None:
    """A turn of up to three calls: with or without price, token counts and charge; sometimes a council."""
    calls = []
    for _ in range(chance.randrange(4)):
        cost = chance.choice([None, Decimal("0.000000001"), Decimal("0.25")])
        counted = chance.choice([None, Usage(chance.randrange(99), chance.randrange(99), 7, cost)])
        calls.append(CallRecord(chance.choice(TIERS), "a/x", counted, 1.0, charged=chance.choice([None, Decimal(1)])))
    first = chance.choice([None, 0.5])
    marks: dict[str, Any] = {name: chance.random() < 0.3 for name in ("fallback", "timed_out", "escalated")}
    sources: tuple[TierSource, ...] = ("default", "council")
    model = chance.choice(["", "a/x", "b/y"])
    facts = TurnFacts(chance.choice(TIERS), chance.choice(sources), model, 2.0, first_token_seconds=first, **marks)
    here = await stores.history.current(chance.choice([HOME, OTHER]))
    await stores.ledger.finish([], [], TurnRecord(turn_id, here.id, person, "q", calls=tuple(calls), facts=facts))


async def simulate_activity(stores: Stores, clock: ManualClock, seed: int) -> None:
    """Random turns, ratings, links and deletions while hours pass and clocks are set back."""
    chance = random.Random(seed)
    had: list[tuple[str, int]] = []
    ratings: list[Rating | None] = [-1, 1, None]
    people: list[int] = []
    for number in range(60):
        clock.now += chance.choice([0.0, 900.0, 3600.0, -1800.0])
        match chance.randrange(12):
            case 0:
                account = UserKey("telegram", str(number))
                people.append((await stores.people.admit(account, f"n{number}", "user", "t")).id)
            case 1 if len(people) > 1:
                was = people.pop()
                (account,) = next(keys[-1:] for person, keys in await stores.people.everyone() if person.id == was)
                await stores.links.offer(people[0], f"CODE{number}", 2e9)
                await stores.links.join(f"CODE{number}", account, "t")
                had = [(turn, people[0] if person == was else person) for turn, person in had]
            case 2 if len(people) > 2:
                await stores.people.forget(people.pop(), "t")
            case 3 | 4 | 5 if had:
                await stores.turns.rate(*chance.choice(had), chance.choice(ratings))
            case 6 if had:
                await stores.ratings.take_back(*chance.choice(had), chance.choice((-1, 1)))
            case _ if people:
                had.append((f"t{number}", chance.choice(people)))
                await some_turn(stores, chance, had[-1][1], had[-1][0])


@pytest.mark.parametrize("seed", range(3))
async def test_hourly_sums_match_the_rows(database: Database, clock: ManualClock, seed: int) -> None:
    stores = open_stores(database, clock)
    await simulate_activity(stores, clock, seed)
    assert await database.read(differing) == []
    counts = select(func.sum(usage_hours.c.calls)), select(func.sum(turn_hours.c.liked + turn_hours.c.disliked))
    assert all(await database.read(lambda c: [c.execute(each).scalar() for each in counts]))


async def test_old_rows_are_counted_by_the_migration(database_url: str, database: Database, clock: ManualClock) -> None:
    await simulate_activity(open_stores(database, clock), clock, 1)

    def step(connection: Connection) -> str:
        before = by_hour(connection, usage_hours), by_hour(connection, turn_hours)
        config = Config()
        config.set_main_option("script_location", str(migrate.SCRIPTS))
        config.attributes["connection"] = connection
        command.downgrade(config, "0016")
        command.upgrade(config, "head")
        assert (by_hour(connection, usage_hours), by_hour(connection, turn_hours)) == before != ({}, {})
        return "done"

    assert await asyncio.to_thread(migrate._run, parse_url(database_url), step) == "done"
