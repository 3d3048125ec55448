"""Usage sums, on SQLite and PostgreSQL."""

from __future__ import annotations

from decimal import Decimal

from routing.types.llm import Usage
from storage.database import Database
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.usage.spending import SqlUsage
from tests.fakes import ManualClock
from tests.storage.samples import ANN, BEN, HOME, OTHER, record


async def test_usage_by_model_person_conversation_and_time(database: Database, clock: ManualClock) -> None:
    people, ledger, usage = (
        SqlPeople(database, SqlPreferences(database), clock),
        SqlLedger(database, clock),
        SqlUsage(database),
    )
    history = SqlHistory(database, clock)
    ann, ben = await people.admit(ANN, "Ann", "user", "t"), await people.admit(BEN, "Ben", "user", "t")
    one, two = (await history.current(HOME)).id, (await history.current(OTHER)).id
    spent = Usage(100, 20, 50, Decimal("0.000000123"))
    await ledger.finish([], [], record(one, ann.id, "q", "a", usage=spent))
    await ledger.finish([], [], record(one, ann.id, "q", "a", usage=Usage(1, 1)))
    await ledger.finish([], [], record(two, ben.id, "q", "a", seconds=2.5))
    await ledger.finish([], [], record(two, ben.id, "q", "a", model="x/y", usage=spent))
    await ledger.finish([], [], record(two, ben.id, "failed"))
    everything = await usage.by_model()
    assert [(s.model, s.calls, s.input_tokens, s.output_tokens, s.cached_tokens, s.unknown) for s in everything] == [
        ("openai/m", 3, 101, 21, 50, 2), ("x/y", 1, 100, 20, 50, 0),
    ]  # fmt: skip
    assert everything[0].cost == Decimal("0.000000123")
    assert [s.calls for s in await usage.by_model(person_id=ann.id)] == [2]
    assert [s.calls for s in await usage.by_model(conversation_id=two)] == [1, 1]
    assert await usage.by_model(since=clock.now + 1) == ()
    assert await usage.seconds("openai/m", 2) == (2.5, 1.5)
