"""Old rows are deleted in batches; what budgets count stays."""

from __future__ import annotations

import pytest
from sqlalchemy import Table, func, select

from routing.types.history import Summary, TurnFacts
from routing.types.llm import Usage
from storage import retention
from storage.schema import conversations, messages, summaries, turn_hours, turns, usage, usage_hours
from storage.stores import Stores
from tests.fakes import ManualClock
from tests.storage.samples import ANN, HOME, record

DAY = 86_400.0
FACTS = TurnFacts("smart", "default", "openai/m", 1.0)
KEPT = (messages, summaries, turns, usage, usage_hours, turn_hours, conversations)


async def count(stores: Stores, table: Table) -> int:
    return await stores.database.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())


async def day_of_talk(stores: Stores, ann: int) -> None:
    here = await stores.history.current(HOME)
    for _ in range(3):
        turn = record(here.id, ann, "q", "a", usage=Usage(1, 2, 0, None), facts=FACTS)
        await stores.ledger.finish([], [], turn)
    await stores.history.summarise(here.id, Summary(1, "earlier", 1))
    await stores.history.begin(HOME)


async def test_only_old_rows_are_deleted(
    stores: Stores, ann: int, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "PAUSE_SECONDS", 0.0)
    for _ in range(3):
        await day_of_talk(stores, ann)
        clock.now += 20 * DAY
    assert [await count(stores, table) for table in KEPT] == [18, 3, 9, 9, 3, 3, 4]
    # 60, 40 and 20 days old
    await stores.retention.prune(clock.now - 30 * DAY, clock.now)
    assert [await count(stores, table) for table in KEPT] == [6, 1, 3, 3, 1, 1, 2]
    await stores.retention.prune(clock.now - DAY, clock.now)
    assert [await count(stores, table) for table in KEPT] == [0, 0, 0, 3, 1, 1, 2], "32 days of usage"
    (spent,) = await stores.usage.by_model(person_id=ann)
    assert spent.calls == 3
    assert await stores.retention.prune(clock.now - DAY, clock.now) == 0


async def test_a_summary_does_not_outlive_its_messages(stores: Stores, ann: int, clock: ManualClock) -> None:
    """It would hide later messages, whose ids start again."""
    here = await stores.history.current(HOME)
    await stores.ledger.finish([], [], record(here.id, ann, "old", "old"))
    clock.now += 40 * DAY
    await stores.history.summarise(here.id, Summary(2, "old words", 2))
    await stores.retention.prune(clock.now - 30 * DAY, clock.now)
    await stores.ledger.finish([], [], record(here.id, ann, "new", "new"))
    summary, found, _ = await stores.history.unsummarised(here.id, 10)
    assert summary is None
    assert [each.text for each in found] == ["new", "new"]


@pytest.mark.parametrize("way", ["retention", "forget"])
async def test_the_space_of_deleted_messages_is_used_again(
    stores: Stores, clock: ManualClock, way: str, database_url: str
) -> None:
    if not database_url.startswith("sqlite"):
        return  # PostgreSQL's autovacuum does it
    sizes = []
    for _ in range(3):
        person = (await stores.people.admit(ANN, "Ann", "user", "t")).id
        here = await stores.history.begin(HOME)
        for _ in range(20):
            await stores.ledger.finish([], [], record(here.id, person, "q" * 20_000, "a" * 20_000))
        sizes.append(await stores.database.size_bytes())
        clock.now += 40 * DAY
        if way == "forget":
            await stores.people.forget(person, "t")
        else:
            await stores.retention.prune(clock.now - DAY, clock.now)
    assert sizes[2] <= sizes[0] * 1.05
