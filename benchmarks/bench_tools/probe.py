"""Measures one selector in a separate process: `python -m benchmarks.bench_tools.probe DATA SET`.

Prints one JSON object. Memory is relative to an interpreter with numpy, tokenizers and safetensors, before any of our
modules is loaded.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

MAX_QUERIES = 300
SETTLED = 50
"""Queries before memory is measured."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_tools.probe", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("set")
    parser.add_argument("--cache", type=Path, help="where the index is kept")
    given = parser.parse_args(arguments)
    for name in ("numpy", "tokenizers", "safetensors"):
        import_module(name)
    gc.collect()
    print(json.dumps(probe(given.data, given.set, _resident(), given.cache)))


def probe(data: Path, name: str, baseline: float | None, cache: Path | None = None) -> dict[str, Any]:
    """Builds the selector, queries it, measures memory, times the queries alone and in an event loop, and shows a
    turn's tools."""
    build: Any = import_module("routing.tools.selection").build_selector
    from benchmarks.selectors.sets import read

    measured = read(data, name)
    queries = [query.text for query in measured.queries[:: max(1, len(measured.queries) // MAX_QUERIES)]]
    entries = len(measured.catalogue)
    began, worked = time.perf_counter(), time.process_time()
    selector = build(measured.catalogue, measured.examples, **({"cache": cache} if cache else {}))
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    del measured
    for query in queries[:SETTLED]:
        selector.select(query)
    gc.collect()
    held = _resident()
    added = None if held is None or baseline is None else round(held - baseline, 1)
    return {
        **{"set": name, "entries": entries, "queries": len(queries)},
        **{"build_s": round(seconds, 3), "build_cpu_s": round(cpu, 3), "baseline_mb": baseline, "added_mb": added},
        **asked(selector, queries),
        "shown_ms": shown(selector, read(data, name).catalogue, queries),
    }


def asked(selector: Any, queries: Sequence[str]) -> Mapping[str, float]:
    """Milliseconds per query, by wall clock and thread time, and the longest block of an event loop."""
    import asyncio

    from benchmarks.bench_tools.loop_lag import longest_block
    from benchmarks.reporting.section import percentile

    wall, cpu = [], []
    for query in queries:
        began, worked = time.perf_counter(), time.thread_time()
        selector.select(query)
        wall.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.thread_time() - worked) * 1e3)

    async def in_thread(query: str) -> object:
        return await asyncio.to_thread(selector.select, query)

    block = asyncio.run(longest_block(in_thread, queries))
    figures = {
        **{"p50_ms": percentile(wall, 0.5), "p95_ms": percentile(wall, 0.95)},
        **{"p50_cpu_ms": percentile(cpu, 0.5), "p95_cpu_ms": percentile(cpu, 0.95)},
        **{"block_ms": block.wall, "block_cpu_ms": block.cpu},
    }
    return {name: round(value, 3) for name, value in figures.items()}


def shown(selector: Any, catalogue: Sequence[Mapping[str, Any]], queries: Sequence[str]) -> float:
    """Milliseconds of the event loop for the tools of a turn, once they are selected."""
    from benchmarks.bench_tools.first_call import slowest

    return round(slowest(selector, catalogue, queries), 3)


def _resident() -> float | None:
    """Megabytes; None if the system does not report it."""
    status = Path("/proc/self/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    return next((round(int(line.split()[1]) / 1024, 1) for line in lines if line.startswith("VmRSS")), None)


if __name__ == "__main__":
    main()
