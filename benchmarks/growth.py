"""Measures growth: turns and commands of the running bot, and their steps, with few stored messages and with a million.

python -m benchmarks.growth [--messages 1000000]

The large database has as many times the people and conversations; a person's share is the same in both.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from benchmarks.bots.contestants import OURS, prepare_workspace
from benchmarks.bots.measure import QUESTION, Session, started_session
from benchmarks.bots.servers import servers
from benchmarks.databases import MODELS, delivered, turn
from benchmarks.large_database import CONVERSATIONS, DAY, EACH, YEAR, Filled, filled
from benchmarks.reporting.section import (
    VERDICTS,
    Section,
    conclude,
    load,
    parser,
    percentile,
    print_progress,
    sampled,
    show,
)
from routing.types.budgets import Period, days
from routing.types.messages import UserKey
from routing.types.schedules import Schedule
from routing.types.usage import Payer

SMALL, LARGE, QUICK = 1_000, 1_000_000, 20_000
SMALL_BOT, QUICK_BOT = 60_000, 4_000
"""Messages of the running bot's small database: a person a round."""
FIRST_CHAT = 10**7
ROUNDS, QUICK_ROUNDS = 200, 4
BOT_ROUNDS = 60
MAX_RATIO = 1.5
SLACK_MS, P95_SLACK_MS = 0.1, 0.3
"""Differences below these are noise, in the median of the CPU and in the 95th percentile of the wall clock."""
Step = Callable[[Filled, int], Awaitable[object]]
HEADINGS = ("step", "wall p50, ms", "wall p95, ms", "CPU, ms", "CPU ratio", "p95 ratio", "limit", "")


async def _turn(filled: Filled, number: int) -> None:
    await turn(filled.stores, filled.person(number), filled.conversation(number), number)


async def _budgets(filled: Filled, number: int) -> None:
    today = days(filled.now, 1, ZoneInfo("UTC"))[0]
    month = Period(today.date, today.start - 30 * DAY, today.end)
    person, chat = filled.person(number), filled.chat(number)
    here = (chat.platform, chat.chat_id)
    payers = [each for when in (today, month) for each in (Payer(when, person), Payer(when, chat=here))]
    await filled.stores.spending.sums(payers)


async def _facts(filled: Filled, number: int) -> None:
    filled.stores.facts.clear()
    await filled.stores.facts.of(filled.full_person(number))


async def _accounts(filled: Filled, number: int) -> None:
    filled.stores.accounts.clear()
    await filled.stores.accounts.of(filled.person(number))
    await filled.stores.accounts.steps()


async def _remind(filled: Filled, number: int) -> None:
    store, person = filled.stores.schedules, filled.person(number)
    at = filled.now + YEAR + number
    added = await store.add(Schedule(person, filled.chat(number), True, "reminder", "tea", "", "UTC", at, at), 1_000)
    assert added is not None
    await store.remove(person, added.id)


async def _export(filled: Filled, number: int) -> None:
    page, _ = await filled.stores.history.messages(filled.conversation(number), 200)
    await filled.stores.history.messages(filled.conversation(number), 200, page[0].id)


async def _forget(filled: Filled, number: int) -> None:
    """Admits a person, who writes nothing, and forgets them."""
    user = UserKey("telegram", f"new {number}")
    person = await filled.stores.people.admit(user, "New", "user", "benchmark")
    await filled.stores.people.forget(person.id, "benchmark")


async def _people(filled: Filled, _: int) -> None:
    page = await filled.stores.people.everyone(51, 0)
    await filled.stores.people.usernames([person.id for person, _ in page])


async def _reaction(filled: Filled, number: int) -> None:
    message_id = str((SMALL if filled.people == 1 else filled.people * EACH) // 2 - 1 - number % 5)
    await filled.stores.ratings.turn_of(filled.chat(number), message_id)
    await filled.stores.ratings.newest(filled.chat(number), filled.person(number))


async def _status_full(filled: Filled, number: int) -> None:
    stores = filled.stores
    await stores.usage.by_model(conversation_id=filled.conversation(number))
    await stores.usage.by_model(person_id=filled.person(number), since=filled.now - DAY)
    for model in MODELS:
        await stores.usage.seconds(model, 50)
    await stores.outbox.counts()
    await stores.database.size_bytes()


MONTH = 30
STEPS: Mapping[str, Step] = {
    "turn: all that is stored": _turn,
    "turn: history": lambda f, n: f.stores.history.unsummarised(f.conversation(n), 200),
    "turn: tiers": lambda f, n: f.stores.history.tiers(f.conversation(n), 5),
    "turn: newest turns": lambda f, _: f.stores.turns.newest(20),
    "reaction": _reaction,
    "turn: budgets, not cached": _budgets,
    "turn: 1,000 facts, not cached": _facts,
    "turn: accounts, not cached": _accounts,
    "scheduler: next time": lambda f, _: f.stores.schedules.next_at(("telegram",)),
    "/remind": _remind,
    "/schedule": lambda f, n: f.stores.schedules.of(f.person(n)),
    "/status": lambda f, n: f.stores.usage.by_model(person_id=f.person(n), since=f.now - DAY),
    "/status full": _status_full,
    "/history": lambda f, n: f.stores.history.recent(f.chat(n), 10),
    "/history export": _export,
    "/usage": lambda f, n: f.stores.usage.by_model(person_id=f.person(n), since=f.now - DAY),
    "/usage 30d": lambda f, n: f.stores.spending.by_day(days(f.now, MONTH, ZoneInfo("UTC")), f.person(n)),
    "/usage tiers 30d": lambda f, n: f.stores.turns.by_tier(f.now - MONTH * DAY, person_id=f.person(n)),
    "/access log": lambda f, n: f.stores.people.audit_log(20),
}
PERIODS: Mapping[str, Step] = {
    "/access": _people,
    "/access forget": _forget,
    "Discord connects": lambda f, n: f.stores.chats.known("telegram", f.now - MONTH * DAY),
    "/usage all": lambda f, n: f.stores.spending.by_person(f.now - DAY),
    "/usage all 30d": lambda f, n: f.stores.spending.by_person(f.now - MONTH * DAY),
    "/usage all 30d, chart": lambda f, n: f.stores.spending.by_day(days(f.now, MONTH, ZoneInfo("UTC"))),
    "/usage tiers 30d, everyone": lambda f, n: f.stores.turns.by_tier(f.now - MONTH * DAY),
}
"""A page of people, of whom the small database has one; reports on everyone, which read the hours of their period;
/access forget, which reads a week of replies; and what reads all open conversations."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Milliseconds of each repetition."""

    wall: list[float]
    cpu: list[float]


async def measure(folder: Path, sizes: Sequence[int], rounds: int) -> dict[str, list[Sample]]:
    """Every step on each size, interleaved."""
    both = [await filled(folder / f"{size}.db", size) for size in sizes]
    found = {name: [Sample([], []) for _ in sizes] for name in (*STEPS, *PERIODS)}
    for number in range(rounds):
        for name, step in {**STEPS, **PERIODS}.items():
            if name in PERIODS and number >= rounds // 4:
                continue
            for each, sample in zip(both, found[name], strict=True):
                began, cpu = time.perf_counter(), time.process_time()
                await step(each, number)
                sample.cpu.append((time.process_time() - cpu) * 1e3)
                sample.wall.append((time.perf_counter() - began) * 1e3)
                await delivered()
    for each in both:
        await each.stores.database.close()
    return found


SAID = {"first turn after a while": QUESTION, "next turn": QUESTION}
COMMANDS = ("/status", "/status full", "/history", "/usage", "/usage 30d")


def running(folder: Path, sizes: Sequence[int], rounds: int) -> dict[str, list[Sample]]:
    """Turns and commands of one bot for each size, interleaved, each round with another person. Milliseconds."""
    found = {name: [Sample([], []) for _ in sizes] for name in (*SAID, *COMMANDS)}
    with ExitStack() as stack:
        bots = [(stack.enter_context(_bot(folder / str(size), size, stack)), size) for size in sizes]
        for number in range(rounds):
            for which, (session, size) in enumerate(bots):
                user = number * 7 % max(1, size // EACH) + 1
                for name, text in (SAID | {each: each for each in COMMANDS}).items():
                    _say(session, user, text, found[name][which])
            if number % 20 == 0:
                print_progress(f"running bot: {number} of {rounds}")
    return found


def _bot(folder: Path, size: int, stack: ExitStack) -> AbstractContextManager[Session]:
    """A running bot with servers of its own, whose database holds this many messages."""
    both = stack.enter_context(servers())
    workspace = folder / "workspace"
    prepare_workspace(workspace, both)
    asyncio.run(_fill(workspace / "tierbot.db", size))
    return started_session(OURS, both, workspace, itertools.count(FIRST_CHAT))


async def _fill(file: Path, size: int) -> None:
    large = await filled(file, size)
    await large.stores.database.close()


def _say(session: Session, user: int, text: str, sample: Sample) -> None:
    people, process = session.servers.people, session.process
    cpu = process.own_cpu_seconds()
    sent = people.say(user, text)
    sample.wall.append((session.reply(user, sent) - sent) * 1e3)
    sample.cpu.append((process.own_cpu_seconds() - cpu) * 1e3)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.growth", __doc__)
    options.add_argument("--messages", type=int, default=LARGE, help="in the large database (%(default)s)")
    given = options.parse_args(arguments)
    large, small_bot, rounds, bot_rounds = (
        (QUICK, QUICK_BOT, QUICK_ROUNDS, QUICK_ROUNDS)
        if given.quick
        else (given.messages, SMALL_BOT, ROUNDS, BOT_ROUNDS)
    )
    parts = (run_bot((small_bot, large), bot_rounds), run_steps((SMALL, large), rounds))
    return conclude([show(each, given.json) for each in parts], given.json)


def run_bot(sizes: tuple[int, int], rounds: int) -> Section:
    """Starts a bot on each database and measures turns and commands."""
    began, before = time.perf_counter(), load()
    with tempfile.TemporaryDirectory() as folder:
        found = running(Path(folder), sizes, rounds)
    return report("growth of the running bot", sizes, found, f"{before}, {time.perf_counter() - began:.0f} s")


def run_steps(sizes: tuple[int, int], rounds: int) -> Section:
    """Fills both databases and measures the steps of storage."""
    began, before = time.perf_counter(), load()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), sizes, rounds))
        megabytes = " → ".join(f"{(Path(folder) / f'{each}.db').stat().st_size / 1e6:.1f}" for each in sizes)
    conditions = f"{megabytes} MB. {before}, {time.perf_counter() - began:.0f} s"
    return report("growth of storage steps", sizes, found, conditions)


def report(name: str, sizes: tuple[int, int], found: Mapping[str, Sequence[Sample]], conditions: str) -> Section:
    """The table and its verdict."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    verdicts = []
    for step, (small, large) in found.items():
        cpu = [statistics.median(each.cpu) for each in (small, large)]
        p50, p95 = ([percentile(each.wall, share) for each in (small, large)] for share in (0.5, 0.95))
        verdict = None if step in PERIODS else _flat(cpu, SLACK_MS) and _flat(p95, P95_SLACK_MS)
        verdicts.append(verdict)
        pairs = (f"{before:.2f} → {after:.2f}" for before, after in (p50, p95, cpu))
        ratios = (f"{after / before:.2f}×" for before, after in (cpu, p95))
        limit = "" if step in PERIODS else f"≤ {MAX_RATIO:g}×"
        lines.append((step, *pairs, *ratios, limit, VERDICTS[verdict]))
    each = len(next(iter(found.values()))[0].wall)
    people = " → ".join(f"{max(1, size // EACH):,}" for size in sizes)
    notes = (
        f"{sizes[0]:,} → {sizes[1]:,} messages of a year, {people} people with {CONVERSATIONS} conversations each. "
        f"{each} of each, interleaved, each for another person. CPU is the median. {conditions}.",
        f"The limit holds for the CPU and for the 95th percentile; {SLACK_MS:g} ms of CPU and {P95_SLACK_MS:g} ms of "
        "the percentile count as none. What has no limit reads a page of people, everyone's hours of a period, a week "
        "of replies, or every open conversation.",
    )
    return sampled(name, lines, notes, verdicts, found)


def _flat(values: Iterable[float], slack: float) -> bool:
    small, large = values
    return large <= max(MAX_RATIO * small, small + slack)


if __name__ == "__main__":
    sys.exit(main())
