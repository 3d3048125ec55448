"""Measures failover's cost in a healthy turn beside a bare call of the same model: interleaved, CPU and wall clock."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.failover.faults import Scripted
from benchmarks.failover.turns import QUESTION, TurnRunner, bare, decision_for, models
from benchmarks.reporting.intervals import RESAMPLES, SEED, Interval
from benchmarks.reporting.section import VERDICTS, Section, print_progress
from routing.health.health import ModelHealth
from routing.ports import Llm

LIMIT_MS = 1.0
"""Maximum milliseconds that failover may add to a healthy turn."""
HEADINGS = ("model", "", "bare call p50, ms", "turn p50, ms", "failover adds, ms", "limit", "")
WARM_UP = 20
IN_PROCESS, LOOPBACK = "in this process, at once", "LiteLLM, model server on the loopback"


@dataclass(slots=True)
class Samples:
    """Milliseconds per turn: CPU of all threads of this process, and wall clock."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pair:
    """The same call bare, and as a turn; a sample is the mean of `batch` of them."""

    bare: Samples
    turn: Samples
    batch: int


async def measure(llm: Llm, root: str, rounds: int, batch: int) -> Pair:
    """One sample of each per round, alternating the order. Raises RuntimeError if the answers differ."""
    health = ModelHealth(time.time)
    choice, runner = models(health, root), TurnRunner(llm, health)
    request = decision_for(choice, QUESTION).request
    expected = await bare(llm, request)

    async def as_turn() -> None:
        outcome, _ = await runner.turn(choice)
        if outcome.completion is None or outcome.completion.text != expected or outcome.failed:
            raise RuntimeError(f"a healthy turn ended with {outcome}")

    async def as_call() -> None:
        await bare(llm, request)

    pair = Pair(Samples(), Samples(), batch)
    for _ in range(WARM_UP):
        await as_turn()
        await as_call()
    contestants: list[tuple[Callable[[], Awaitable[None]], Samples]] = [(as_call, pair.bare), (as_turn, pair.turn)]
    for number in range(rounds):
        if number % 100 == 0:
            print_progress(f"healthy turns: round {number} of {rounds}")
        for work, samples in contestants if number % 2 else reversed(contestants):
            await _sample(work, samples, batch)
    return pair


async def _sample(work: Callable[[], Awaitable[None]], samples: Samples, batch: int) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(batch):
        await work()
    samples.cpu.append((time.process_time() - cpu) * 1000 / batch)
    samples.wall.append((time.perf_counter() - wall) * 1000 / batch)


def added(without: Sequence[float], with_it: Sequence[float]) -> Interval:
    """The difference of the medians, with a paired bootstrap interval, because disturbances affect both of a round."""
    rng, pairs = random.Random(SEED), list(zip(without, with_it, strict=True))
    found = []
    for _ in range(RESAMPLES):
        draw_plan = rng.choices(pairs, k=len(pairs))
        found.append(statistics.median(b for _, b in draw_plan) - statistics.median(a for a, _ in draw_plan))
    found.sort()
    tail = round(RESAMPLES * 0.025)
    return Interval(statistics.median(with_it) - statistics.median(without), found[tail], found[-tail - 1])


def at_once() -> Llm:
    """A model that needs no time and meets no fault."""
    return Scripted({})


def report(found: dict[str, Pair], conditions: str) -> Section:
    """The table and its verdicts."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    verdicts: list[bool | None] = []
    figures: dict[str, object] = {}
    for name, pair in found.items():
        for clock in ("cpu", "wall"):
            without, with_it = getattr(pair.bare, clock), getattr(pair.turn, clock)
            difference = added(without, with_it)
            verdict = difference.value <= LIMIT_MS if clock == "cpu" else None
            verdicts.append(verdict)
            medians = (f"{statistics.median(each):.3f}" for each in (without, with_it))
            row = (*medians, difference.text(3), f"≤ {LIMIT_MS:g} ms", VERDICTS[verdict])
            lines.append((name, "CPU" if clock == "cpu" else clock, *row))
            figures[f"{name}, {clock}"] = {"bare": without, "turn": with_it}
    sizes = ", ".join(f"{name}: {len(pair.bare.cpu)} rounds of {pair.batch}" for name, pair in found.items())
    notes = (
        f"Interleaved, who is first changes with each round; {sizes}; {conditions}. Differences of medians, in "
        "brackets where they lie in 95 of 100 such runs (bootstrap of pairs). The verdict is on CPU: wall clock grows "
        "with what else the machine does.",
        "A turn: TurnLoop and ModelCaller, the models chosen as often as the bot does, with health, queues, "
        "breaker, latency, deadline; without history, tools, store, money and log. The bare call: the stream's text.",
    )
    return Section("failover: a healthy turn", tuple(lines), notes, False not in verdicts, figures)
