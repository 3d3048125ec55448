"""A council is stored as a turn that can be rated, but belongs to no tier; on SQLite and PostgreSQL."""

from __future__ import annotations

from routing.types.decisions import TierSource
from routing.types.history import TurnFacts, TurnRecord
from routing.types.tiers import Tier
from storage.stores import Stores
from tests.storage.samples import HOME


async def turn(
    stores: Stores, person: int, turn_id: str, tier: Tier, source: TierSource, seconds: float, model: str = "a/x"
) -> None:
    here = await stores.history.current(HOME)
    late = source == "council"
    facts = TurnFacts(tier, source, model, seconds, fallback=late, timed_out=late, escalated=late)
    await stores.ledger.finish([], [], TurnRecord(turn_id, here.id, person, "q", facts=facts))


async def test_councils_are_a_group_after_the_tiers(stores: Stores, ann: int) -> None:
    await turn(stores, ann, "c1", "deep", "council", 120.0)
    await turn(stores, ann, "c2", "coding", "council", 60.0)
    await turn(stores, ann, "d", "deep", "preference", 9.0)
    await turn(stores, ann, "b", "balanced", "default", 1.0)
    assert await stores.turns.rate("c1", ann, -1)
    balanced, deep, council = await stores.turns.by_tier()
    assert [(each.tier, each.turns, each.p50, each.p95, each.disliked) for each in (balanced, deep, council)] == [
        ("balanced", 1, 1.0, 1.0, 0), ("deep", 1, 9.0, 9.0, 0), ("council", 2, 60.0, 120.0, 1),
    ]  # fmt: skip
    await turn(stores, ann, "c3", "deep", "council", 90.0, "b/y")
    councils = (await stores.turns.by_tier(person_id=ann))[2]
    assert [(each.tier, each.model, each.turns, each.p50) for each in councils.models] == [
        ("council", "a/x", 2, 60.0), ("council", "b/y", 1, 90.0),
    ]  # fmt: skip


async def test_councils_raise_no_alarm(stores: Stores, ann: int) -> None:
    for number in range(3):
        await turn(stores, ann, f"t{number}", "balanced", "default", 1.0)
        await turn(stores, ann, f"c{number}", "deep", "council", 99.0)
    found = await stores.turns.newest(3)
    assert (found.turns, found.fallbacks, found.timeouts, found.escalations) == (3, 0, 0, 0)


async def test_a_council_does_not_count_as_the_last_tier(stores: Stores, ann: int) -> None:
    await turn(stores, ann, "t1", "coding", "auto", 1.0)
    await turn(stores, ann, "c1", "deep", "council", 99.0)
    here = await stores.history.current(HOME)
    assert await stores.history.tiers(here.id, 3) == ("coding",)
