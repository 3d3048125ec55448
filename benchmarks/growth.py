"""Measures growth: steps of a turn and of commands with 1,000 stored messages and with a million, in one run.

python -m benchmarks.growth [--messages 1000000]

The large database also has a thousand times the people and conversations; a person's share is the same in both.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Integer, cast, func, insert, select

from benchmarks.databases import MODELS, delivered, turn
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, sampled
from routing.types.budgets import Period, days
from routing.types.messages import ChatKey, UserKey
from routing.types.tiers import TIERS
from routing.types.usage import Payer
from storage.database import open_database
from storage.database.migrate import migrate
from storage.schema import conversations, identities, inbox, messages, outbox, people, pieces, turns, usage
from storage.stores import Stores, open_stores
from storage.usage.hours import HOUR, KEYS, TURNS, USAGE, HourlySums

SMALL, LARGE, QUICK = 1_000, 1_000_000, 20_000
EACH = 1_000
"""Messages of a person."""
CONVERSATIONS = 10
"""Conversations of a person."""
ACTIVE = 100
"""Conversations that go on at the same time."""
ROUNDS = 60
DAY, YEAR = 86_400.0, 365 * 86_400.0
MAX_RATIO = 1.5
SLACK_MS = 0.1
"""A difference below this is noise."""
WORDS = "some words " * 10
Row = dict[str, object]
Step = Callable[["Filled", int], Awaitable[object]]
HEADINGS = ("step", "wall p50, ms", "wall p95, ms", "CPU, ms", "CPU ratio", "p95 ratio", "limit", "")


@dataclass(frozen=True, slots=True)
class Filled:
    """Stores with a year of messages. People have the ids 1 to `people`, conversations 1 to `conversations`."""

    stores: Stores
    people: int
    conversations: int
    now: float

    def person(self, number: int) -> int:
        return random.Random(number).randrange(self.people) + 1

    def conversation(self, number: int) -> int:
        return random.Random(number).randrange(self.conversations) + 1

    def chat(self, number: int) -> ChatKey:
        return ChatKey("telegram", str(self.person(number)))


def rows(count: int, now: float) -> Iterator[tuple[int, int, int, float]]:
    """Number, person, conversation and time of each turn; concurrent conversations alternate."""
    everyone, talks = max(1, count // EACH), max(1, count * CONVERSATIONS // EACH)
    active, length = min(ACTIVE, talks), count // 2 // talks
    number = itertools.count()
    for first in range(0, talks, active):
        for _, talk in itertools.product(range(length), range(first, first + active)):
            n = next(number)
            yield n, talk % everyone + 1, talk + 1, now - YEAR * (1 - n / (count / 2))


def fill(connection: Connection, count: int, now: float) -> tuple[int, int]:
    """Inserts `count` messages of a year into an empty database. Returns the numbers of people and conversations."""
    everyone, talks = max(1, count // EACH), max(1, count * CONVERSATIONS // EACH)
    names: list[Row] = [
        {"id": n + 1, "name": f"Person {n}", "role": "user" if n else "owner", "created_at": now}
        for n in range(everyone)
    ]
    accounts: list[Row] = [
        {"platform": "telegram", "user_id": str(n + 1), "person_id": n + 1, "username": f"name{n}"}
        for n in range(everyone)
    ]
    talked: list[Row] = [
        {"id": n + 1, "platform": "telegram", "chat_id": str(n % everyone + 1), "thread_id": "", "started_at": now}
        | {"ended_at": None if n + everyone >= talks else now}
        for n in range(talks)
    ]
    for table, known in ((people, names), (identities, accounts), (conversations, talked)):
        connection.execute(insert(table), known)
    made = rows(count, now)
    while batch := tuple(itertools.islice(made, 10_000)):
        _insert(connection, batch, now)
    for sums in (USAGE, TURNS):
        _sum(connection, sums)
    return everyone, talks


def _insert(connection: Connection, batch: Sequence[tuple[int, int, int, float]], now: float) -> None:
    message_rows, usage_rows, turn_rows, inbox_rows, outbox_rows, piece_rows = [list[Row]() for _ in range(6)]
    for n, person, talk, at in batch:
        turn_id, tier, model, seconds = f"{n:08x}", TIERS[n % 4], MODELS[n % 4], 1.0 + n % 97 / 10
        mine: Row = {"person_id": person, "turn_id": turn_id, "at": at}
        here: Row = mine | {"conversation_id": talk}
        message_rows += (here | {"role": role, "text": WORDS} for role in ("user", "assistant"))
        usage_rows.append(
            here
            | {"tier": tier, "model": model, "input_tokens": 900, "output_tokens": 200, "cached_tokens": 0}
            | {"cost_nano": 1_000_000, "held_nano": None, "seconds": seconds}
        )
        turn_rows.append(
            mine
            | {"tier": tier, "source": "default", "model": model, "failed": "[]", "fallback": False}
            | {"timed_out": False, "escalated": False, "seconds": seconds, "first_token_seconds": 0.5}
            | {"cost_nano": 1_000_000, "unknown": 0, "rating": None}
        )
        if at > now - 2 * DAY:
            key = {"platform": "telegram", "bot_id": "1", "update_id": f"old {n}"}
            inbox_rows.append(key | {"payload": "", "state": "done", "received_at": at})
        if at > now - 7 * DAY:
            where = {"id": n + 1, "platform": "telegram", "chat_id": str(person), "thread_id": "", "turn_id": turn_id}
            payload = f'{{"chat":["telegram","{person}"],"text":"{WORDS}","owner":{person}}}'
            outbox_rows.append(where | {"payload": payload, "state": "sent", "created_at": at})
            piece_rows.append({"outbox_id": n + 1, "message_id": str(n)})
    for table, made in (
        (messages, message_rows),
        (usage, usage_rows),
        (turns, turn_rows),
        (inbox, inbox_rows),
        (outbox, outbox_rows),
        (pieces, piece_rows),
    ):
        if made:
            connection.execute(insert(table), made)


def _sum(connection: Connection, of: HourlySums) -> None:
    """Fills a table of hourly sums."""
    keys = {name: value for name, value in of.values.items() if name in KEYS}
    keys["hour"] = cast(of.rows.c.at / HOUR, Integer)
    sums = {name: func.sum(value) for name, value in of.values.items() if name not in KEYS}
    query = select(*keys.values(), *sums.values()).group_by(*keys.values())
    connection.execute(insert(of.hours).from_select([*keys, *sums], query))


async def _turn(filled: Filled, number: int) -> None:
    await turn(filled.stores, filled.person(number), filled.conversation(number), number)


async def _budgets(filled: Filled, number: int) -> None:
    today = days(filled.now, 1, ZoneInfo("UTC"))[0]
    month = Period(today.date, today.start - 30 * DAY, today.end)
    person, chat = filled.person(number), filled.chat(number)
    here = (chat.platform, chat.chat_id)
    payers = [each for when in (today, month) for each in (Payer(when, person), Payer(when, chat=here))]
    await filled.stores.spending.sums(payers)


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
    "/status": lambda f, n: f.stores.usage.by_model(person_id=f.person(n), since=f.now - DAY),
    "/status full": _status_full,
    "/history": lambda f, n: f.stores.history.recent(f.chat(n), 10),
    "/history export": _export,
    "/usage": lambda f, n: f.stores.usage.by_model(person_id=f.person(n), since=f.now - DAY),
    "/usage 30d": lambda f, n: f.stores.spending.by_day(days(f.now, MONTH, ZoneInfo("UTC")), f.person(n)),
    "/usage tiers 30d": lambda f, n: f.stores.turns.by_tier(f.now - MONTH * DAY, person_id=f.person(n)),
    "/access": _people,
    "/access log": lambda f, n: f.stores.people.audit_log(20),
}
PERIODS: Mapping[str, Step] = {
    "/access forget": _forget,
    "Discord connects": lambda f, n: f.stores.chats.known("telegram", f.now - MONTH * DAY),
    "/usage all": lambda f, n: f.stores.spending.by_person(f.now - DAY),
    "/usage all 30d": lambda f, n: f.stores.spending.by_person(f.now - MONTH * DAY),
    "/usage all 30d, chart": lambda f, n: f.stores.spending.by_day(days(f.now, MONTH, ZoneInfo("UTC"))),
    "/usage tiers 30d, everyone": lambda f, n: f.stores.turns.by_tier(f.now - MONTH * DAY),
}
"""Reports on everyone, which read the hours of their period; /access forget, which reads a week of replies; and what
reads all open conversations."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Milliseconds of each repetition."""

    wall: list[float]
    cpu: list[float]


async def measure(folder: Path, sizes: Sequence[int], rounds: int) -> dict[str, list[Sample]]:
    """Every step on each size, interleaved."""
    both = [await filled(folder, size) for size in sizes]
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


async def filled(folder: Path, size: int) -> Filled:
    """A new database with this many messages."""
    url = f"sqlite:///{folder / f'{size}.db'}"
    await asyncio.to_thread(migrate, url, folder)
    database = open_database(url)
    now = time.time()
    everyone, talks = await database.write(lambda c: fill(c, size, now))
    return Filled(open_stores(database, time.time), everyone, talks, now)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.growth", __doc__)
    options.add_argument("--messages", type=int, default=LARGE, help="in the large database (%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.messages))


def run(size: int) -> Section:
    """Fills both databases and measures."""
    began, before = time.perf_counter(), load()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), (SMALL, size), ROUNDS))
        megabytes = [(Path(folder) / f"{each}.db").stat().st_size / 1e6 for each in (SMALL, size)]
    return report(size, found, megabytes, f"{before}, {time.perf_counter() - began:.0f} s")


def report(size: int, found: Mapping[str, Sequence[Sample]], megabytes: Sequence[float], conditions: str) -> Section:
    """The table and its verdict."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    verdicts = []
    for name, (small, large) in found.items():
        cpu = [statistics.median(each.cpu) for each in (small, large)]
        p50, p95 = ([percentile(each.wall, share) for each in (small, large)] for share in (0.5, 0.95))
        verdict = cpu[1] <= max(MAX_RATIO * cpu[0], cpu[0] + SLACK_MS) if name in STEPS else None
        verdicts.append(verdict)
        pairs = (f"{before:.2f} → {after:.2f}" for before, after in (p50, p95, cpu))
        ratios = (f"{after / before:.2f}×" for before, after in (cpu, p95))
        limit = f"≤ {MAX_RATIO:g}× CPU" if name in STEPS else ""
        lines.append((name, *pairs, *ratios, limit, VERDICTS[verdict]))
    notes = (
        f"{SMALL:,} → {size:,} messages of a year, {size // EACH:,} people with {CONVERSATIONS} conversations each; "
        f"{megabytes[0]:.1f} → {megabytes[1]:.0f} MB. {ROUNDS} of each, interleaved, each for another person and "
        f"conversation. CPU is the median. {conditions}.",
        f"A difference of {SLACK_MS:g} ms counts as none. What has no limit reads everyone's hours of a "
        "period, a week of replies, or every open conversation.",
    )
    return sampled("growth", lines, notes, verdicts, found)


if __name__ == "__main__":
    sys.exit(main())
