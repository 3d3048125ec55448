"""Measures failover: `python -m benchmarks.failover`.

First the same call alone and as a turn, interleaved; then a thousand concurrent turns in which 30 % of the attempts
meet a fault: over one pool of three models, and over a hundred pools, so that a fault affects few. Each runs against a
model in this process, and through LiteLLM against the loopback model server. The exit code is 1 if a limit is
exceeded.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.bots.servers import ANSWER, CHUNKS, Control, servers
from benchmarks.failover import concurrency, healthy
from benchmarks.failover.faults import Plan, Scripted, draw_plan, script
from benchmarks.failover.healthy import IN_PROCESS, LOOPBACK, Pair
from benchmarks.failover.turns import NAMES, TurnRunner, models
from benchmarks.reporting.section import Section, conclude, load, parser, print_progress, show
from routing.catalog.catalog import BUNDLED, Catalog
from routing.health.health import ModelHealth
from routing.llm.adapter import LiteLlm
from routing.llm.local.runtime import LocalRuntime

TURNS, ROUNDS = 1_000, 400
QUICK_TURNS, QUICK_ROUNDS = 60, 10
BATCH = 10
MANY = 100
"""Number of pools, so that a fault affects few turns."""
PAUSE = 0.005
"""Seconds before each piece of an answer in this process."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every limit is kept; 1: one is not."""
    options = parser("benchmarks.failover", __doc__)
    options.add_argument("--turns", type=int, default=TURNS, help="turns at once (%(default)s)")
    options.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of healthy turns (%(default)s)")
    given = options.parse_args(arguments)
    if given.quick:
        given.turns, given.rounds = QUICK_TURNS, QUICK_ROUNDS
    logging.getLogger("routing").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, servers() as both:
        sections = asyncio.run(_measured(given, both.model.root, Path(folder)))
    return conclude(sections, given.json)


async def _measured(given: argparse.Namespace, root: str, folder: Path) -> list[Section]:
    before = load()
    async with _library(folder) as litellm:
        found: dict[str, Pair] = {
            IN_PROCESS: await healthy.measure(healthy.at_once(), "", given.rounds, BATCH),
            LOOPBACK: await healthy.measure(litellm, root, given.rounds, 1),
        }
        first = show(healthy.report(found, f"{before} at the start"), given.json)
        plan, before, control = draw_plan(given.turns), load(), Control(root)
        results = [
            await _in_process("in this process, one pool", plan, 1),
            await _in_process(f"in this process, {MANY} pools", plan, MANY),
            await _on_the_wire("LiteLLM, one pool", litellm, control, root, plan, 1),
            await _on_the_wire(f"LiteLLM, {MANY} pools", litellm, control, root, plan, MANY),
        ]
    return [first, show(concurrency.report(results, f"{before} at the start"), given.json)]


async def _in_process(name: str, plan: Plan, among: int) -> concurrency.LoadResult:
    print_progress(name)
    return await concurrency.run(name, Scripted(plan, PAUSE), plan, among)


async def _on_the_wire(
    name: str, litellm: LiteLlm, control: Control, root: str, plan: Plan, among: int
) -> concurrency.LoadResult:
    """Makes the first call of each vendor, which takes the library a while."""
    print_progress(name)
    await asyncio.to_thread(control.post, "reset")
    await asyncio.to_thread(control.post, "default", text=ANSWER, chunks=CHUNKS)
    health = ModelHealth(time.time)
    for model in NAMES:
        await TurnRunner(litellm, health).turn(models(health, root, [model]))
    await script(control, plan)
    return await concurrency.run(name, litellm, plan, among, root)


@asynccontextmanager
async def _library(folder: Path) -> AsyncIterator[LiteLlm]:
    """LiteLLM, loaded."""
    local = LocalRuntime(folder)
    made = LiteLlm(local, Catalog.load(BUNDLED))
    await made.ready()
    try:
        yield made
    finally:
        await local.close()


if __name__ == "__main__":
    sys.exit(main())
