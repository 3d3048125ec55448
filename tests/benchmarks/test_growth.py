"""benchmarks.growth: every step runs on both sizes, and a step that grows fails the limit."""

from __future__ import annotations

from pathlib import Path

from benchmarks.growth import PERIODS, STEPS, Sample, measure, report
from benchmarks.large_database import ACCOUNT_KINDS, DAY, FACTS, SCHEDULES, filled
from routing.types.memory import MAX_FACTS


async def test_every_step_is_measured_on_both_sizes(in_memory: Path) -> None:
    found = await measure(in_memory, (1_000, 2_000), 4)
    assert found.keys() == STEPS.keys() | PERIODS.keys()
    assert {len(each.cpu) for name in STEPS for each in found[name]} == {4}


async def test_people_have_facts_accounts_and_schedules(in_memory: Path) -> None:
    found = await filled(in_memory / "bot.db", 2_000)
    stores = found.stores
    assert [len(await stores.facts.of(each)) for each in (1, 2)] == [MAX_FACTS, FACTS]
    assert {found.full_person(number) for number in range(9)} == {1}
    assert [len(await stores.accounts.of(each)) for each in (1, 2)] == [len(ACCOUNT_KINDS), 0]
    assert [len(await stores.schedules.of(each)) for each in (1, 2)] == [SCHEDULES, SCHEDULES]
    assert await stores.schedules.due(("telegram",), found.now + DAY, 1) == (), "none starts while it is measured"
    await stores.database.close()


def test_a_step_that_grows_fails() -> None:
    def verdict(cpu: float, wall: float) -> bool:
        samples = [Sample([10.0], [10.0]), Sample([wall], [cpu])]
        return report("growth", (1_000, 2_000), {"/history": samples}, "").kept

    assert verdict(14, 14)
    assert not verdict(16, 14)
    assert not verdict(14, 16)
