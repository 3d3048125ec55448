"""Time and memory limits of tool selection, and how they are measured."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench_tools import limits
from benchmarks.bench_tools.loop_lag import longest_block
from benchmarks.bench_tools.probe import probe
from tests.benchmarks.test_tool_routing import CATALOGUE, EXAMPLES, ROWS

FIGURES = {"build_s": 2.0, "build_cpu_s": 1.0, "added_mb": 50.0, "p50_ms": 1.0, "p95_ms": 5.0, "p95_cpu_ms": 5.0}
PROBE = {**FIGURES, "block_ms": 9.0, "block_cpu_ms": 5.0, "shown_ms": 5.0}


@pytest.mark.parametrize(
    ("probe_name", "figure", "value"),
    [
        *((limits.LARGE, figure, value) for figure, value in (("build_s", 2.1), ("p95_ms", 5.1), ("shown_ms", 5.1))),
        (limits.LARGE, "added_mb", 51),
        *((limits.SMALL, figure, value) for figure, value in (("block_cpu_ms", 5.1), ("p95_ms", 5.1))),
        (limits.CACHED, "build_s", 0.21),
    ],
)
def test_each_limit_is_checked_against_the_median(probe_name: str, figure: str, value: float) -> None:
    kept = {limits.SMALL: [PROBE] * 3, limits.LARGE: [PROBE] * 3, limits.CACHED: [{**PROBE, "build_s": 0.2}] * 3}
    assert limits.report(kept).kept
    outlier = {**kept, probe_name: [*kept[probe_name][:2], {**kept[probe_name][0], figure: value}]}
    assert limits.report(outlier).kept
    broken = {**kept, probe_name: [{**kept[probe_name][0], figure: value}] * 3}
    assert not limits.report(broken).kept
    assert limits.report(broken).text().count("✗") == 1


def test_a_missing_measurement_breaks_no_limit() -> None:
    section = limits.report({limits.SMALL: [{**PROBE, "added_mb": None}]})
    assert section.kept
    assert section.text().count("not measured") == 12


def test_a_cache_is_filled_before_it_is_measured() -> None:
    asked_for: list[tuple[str, Path | None]] = []
    cache = Path("index")

    def measured(data: Path, catalogue: str, kept: Path | None) -> Mapping[str, Any]:
        asked_for.append((catalogue, kept))
        return PROBE

    found = limits.probes(Path(), cache, 2, measured)
    assert {name: len(each) for name, each in found.items()} == {limits.SMALL: 2, limits.LARGE: 2, limits.CACHED: 2}
    assert asked_for == [(limits.SMALL, None)] * 2 + [(limits.LARGE, None)] * 2 + [(limits.LARGE, cache)] * 3
    assert limits.CACHED not in limits.probes(Path(), None, 1, measured)


def worked(milliseconds: float) -> None:
    """Waits until this thread has used this much CPU time."""
    until = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < until:
        pass


async def test_the_longest_block_is_one_continuous_stretch() -> None:
    async def at_once(query: str) -> None:
        worked(30)

    async def in_slices(query: str) -> None:
        for _ in range(30):
            worked(1)
            await asyncio.sleep(0)

    whole, sliced = await longest_block(at_once, ["a", "b"]), await longest_block(in_slices, ["a"])
    assert whole.cpu >= 30
    assert whole.wall >= 30
    assert sliced.cpu < 30


def test_a_probe_measures_build_time_queries_and_memory(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "small.catalog.json").write_text(json.dumps(CATALOGUE), "utf-8")
    (tmp_path / "small.examples.json").write_text(json.dumps(EXAMPLES), "utf-8")
    (tmp_path / "dev" / "small.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in ROWS), "utf-8")
    found = probe(tmp_path, "small", 1.0)
    assert (found["entries"], found["queries"]) == (len(CATALOGUE), 6)
    assert found["added_mb"] is None or found["added_mb"] > 10
    assert probe(tmp_path, "small", None)["added_mb"] is None
    assert (probe(tmp_path, "small", 1e6)["added_mb"] or -1) < 0
    assert {limit.figure for limit in limits.LIMITS} <= found.keys()
    assert found["block_cpu_ms"] > 0
    assert found["shown_ms"] > 0
    assert found["p50_ms"] <= found["p95_ms"]
