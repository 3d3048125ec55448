"""benchmarks.growth: every step runs on both sizes, and a step that grows fails the limit."""

from __future__ import annotations

from pathlib import Path

from benchmarks.growth import PERIODS, STEPS, Sample, measure, report


async def test_every_step_is_measured_on_both_sizes(in_memory: Path) -> None:
    found = await measure(in_memory, (1_000, 2_000), 4)
    assert found.keys() == STEPS.keys() | PERIODS.keys()
    assert {len(each.cpu) for name in STEPS for each in found[name]} == {4}


def test_a_step_that_grows_fails() -> None:
    def verdict(cpu: float, wall: float) -> bool:
        samples = [Sample([10.0], [10.0]), Sample([wall], [cpu])]
        return report("growth", (1_000, 2_000), {"/history": samples}, "").kept

    assert verdict(14, 14)
    assert not verdict(16, 14)
    assert not verdict(14, 16)
