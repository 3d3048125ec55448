"""A load test of many concurrent turns with faults: how each ended, and whether one was lost or late."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Literal

from benchmarks.failover.call_counter import CallCounter
from benchmarks.failover.faults import RETRY_AFTER, SHARE, Plan, text_of
from benchmarks.failover.turns import NAMES, TIER, Line, TurnRunner, models
from benchmarks.reporting.section import VERDICTS, Section, percentile
from routing.health.health import ModelHealth
from routing.policy.models import Models
from routing.ports import Llm
from routing.types.turns import Outcome

SECONDS = {"deadlineSeconds": 4.0, "firstTokenSeconds": 0.5, "trySeconds": 1.0}
"""The tier's contract in this benchmark."""
LATE_SECONDS = 0.25
"""A turn is late this long after its deadline, without its time in queues."""
PEOPLE = 250
TIMEOUT_SECONDS = 300.0
"""Maximum seconds of a turn; a longer one counts as lost."""

End = Literal["answer", "partial", "failure", "lost"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How one turn ended, its seconds without queues and in queues (`in_line`), and its number of attempts."""

    end: End
    why: str
    seconds: float
    in_line: float
    tries: int


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The results of all turns of a run; `probes` is the maximum of concurrent probes of one model, `busy` of
    concurrent calls."""

    name: str
    turns: tuple[Ended, ...]
    attempts: int
    deadline: float
    seconds: float
    open_breakers: int
    in_cooldown: int
    probes: int
    most_probes: int
    most_busy: int

    @property
    def late(self) -> int:
        """Number of turns that ended late."""
        return sum(each.seconds > self.deadline + LATE_SECONDS for each in self.turns)

    @property
    def most_tries(self) -> int:
        """Maximum number of attempts of a turn."""
        return max(each.tries for each in self.turns)

    def count(self, end: End) -> int:
        """Number of turns with this outcome."""
        return sum(each.end == end for each in self.turns)

    @property
    def kept(self) -> bool:
        """Whether every guarantee held."""
        return not (self.count("lost") or self.late or self.most_tries > self.attempts or self.most_probes > 1)


def pools(count: int) -> list[list[str]]:
    """Pools of three models, one per vendor, without shared models."""
    return [[f"{name}-{number}" for name in NAMES] for number in range(count)]


async def run(name: str, llm: Llm, plan: Plan, among: int, root: str = "") -> LoadResult:
    """Run all turns of a plan at once, over `pools` pools."""
    health = ModelHealth(time.time)
    choices = [models(health, root, pool, SECONDS) for pool in pools(among)]
    watched = CallCounter(llm, health)
    runner = TurnRunner(watched, health)
    began = time.perf_counter()
    tasks = {
        number: asyncio.create_task(_turn(runner, choices[number % among], number), name=f"turn {number}")
        for number in plan
    }
    await asyncio.wait(tasks.values(), timeout=TIMEOUT_SECONDS)
    took = time.perf_counter() - began
    ended = tuple(_ended(task, watched.tries[number]) for number, task in tasks.items())
    contract = choices[0].config.contracts[TIER]
    return LoadResult(
        name=name,
        turns=ended,
        attempts=contract.attempts,
        deadline=contract.deadline_seconds,
        seconds=took,
        open_breakers=len(health.breakers.statuses()),
        in_cooldown=len(health.cooldowns.keep()),
        probes=watched.probes,
        most_probes=watched.most_probes,
        most_busy=watched.most_busy,
    )


async def _turn(runner: TurnRunner, choice: Models, number: int) -> tuple[Outcome, Line, float]:
    """A turn and its seconds, by an independent clock."""
    began = time.perf_counter()
    outcome, line = await runner.turn(choice, text_of(number), number % PEOPLE)
    return outcome, line, time.perf_counter() - began


def _ended(task: asyncio.Task[tuple[Outcome, Line, float]], tries: int) -> Ended:
    if not task.done():
        task.cancel()
        return Ended("lost", "never ended", TIMEOUT_SECONDS, 0.0, tries)
    if (error := task.exception()) is not None:
        return Ended("lost", repr(error), 0.0, 0.0, tries)
    outcome, line, took = task.result()
    return Ended(*what(outcome), took - line.in_line, line.in_line, tries)


def what(outcome: Outcome) -> tuple[End, str]:
    """How a turn ended for the person, and the failure's name."""
    done, error = outcome.completion, outcome.error
    if (done is None) == (error is None):
        return "lost", f"{done} and {error}"
    if error is not None:
        return ("failure", type(error).__name__) if error.reason else ("lost", "a failure without a reason")
    assert done is not None, "one of the two is there"
    if done.finish == "stop":
        return "answer", done.finish
    return ("partial" if done.text.strip() else "failure"), done.finish


def report(found: list[LoadResult], conditions: str) -> Section:
    """One column a run."""
    rows = [
        ("", *(each.name for each in found)),
        ("turns", *(f"{len(each.turns):,}" for each in found)),
        *((words, *(str(each.count(end)) for each in found)) for end, words in _ENDS.items()),
        ("lost (limit 0)", *(_held(each.count("lost"), 0) for each in found)),
        (f"over {LATE_SECONDS:g} s past the deadline (limit 0)", *(_held(each.late, 0) for each in found)),
        ("most tries of a turn (limit: attempts)", *(_held(each.most_tries, each.attempts) for each in found)),
        ("most probes of a model at a time (limit 1)", *(_held(each.most_probes, 1) for each in found)),
        ("probes in all", *(str(each.probes) for each in found)),
        ("breakers open at the end", *(str(each.open_breakers) for each in found)),
        ("models in cooldown at the end", *(str(each.in_cooldown) for each in found)),
        ("turn p50 / p95, s", *(_times([turn.seconds for turn in each.turns]) for each in found)),
        ("slowest turn, s", *(f"{max(turn.seconds for turn in each.turns):.2f}" for each in found)),
        ("queued p50 / p95, s", *(_times([turn.in_line for turn in each.turns]) for each in found)),
        ("most calls at a time", *(str(each.most_busy) for each in found)),
        ("all of it, s", *(f"{each.seconds:.1f}" for each in found)),
    ]
    names = {each.name: Counter(turn.why for turn in each.turns if turn.end == "failure") for each in found}
    failures = "; ".join(f"{name}: {_listed(why)}" for name, why in names.items())
    notes = (
        f"All at once, of {PEOPLE} people; each try meets a fault with a probability of {SHARE:.0%} (a 429 asks for "
        f"{RETRY_AFTER:g} s). Contract: deadline {SECONDS['deadlineSeconds']:g} s, first token "
        f"{SECONDS['firstTokenSeconds']:g} s, one try {SECONDS['trySeconds']:g} s, {found[0].attempts} attempts; the "
        f"usual limits of calls at a time. A turn's seconds do not include the queue; {conditions}.",
        "One pool: the first 401, 404 and 429 pause its models for longer than the run lasts; later turns fail "
        f"with that reason. Failures by name: {failures}.",
    )
    kept = all(each.kept for each in found)
    return Section("failover: many turns", tuple(rows), notes, kept, {each.name: asdict(each) for each in found})


_ENDS: dict[End, str] = {"answer": "an answer", "partial": "a part of an answer", "failure": "a named failure"}


def _held(value: int, most: int) -> str:
    return f"{value} {VERDICTS[value <= most]}"


def _times(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} / {percentile(values, 0.95):.2f}"


def _listed(why: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in why.most_common()) or "none"
