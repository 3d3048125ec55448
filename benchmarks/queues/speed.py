"""What a message costs, how long it waits, and what a backlog does."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from benchmarks.queues.board import END, START, Board
from benchmarks.queues.contender import Job
from benchmarks.queues.processes import SLOTS, Run, run
from benchmarks.queues.server import Queues, cpu_seconds
from benchmarks.queues.work import Load
from benchmarks.reporting.section import Section, percentile, spread

FULL = Load(messages=100_000, seconds=10.0)
STEADY = Load(messages=1_000, rate=100.0, batch=1)
BACKLOG = Load(messages=20_000, batch=500, ahead=True)
ONE = Load(messages=1_000, conversations=1, batch=500, ahead=True)
QUICK_FULL, QUICK_STEADY = replace(FULL, messages=2_000, seconds=1.0), replace(STEADY, messages=50)
QUICK_BACKLOG, QUICK_ONE = replace(BACKLOG, messages=500), replace(ONE, messages=100)
DRAIN_SECONDS = 60.0
LOOK_SECONDS = 10.0
"""A backlog is looked at for so long."""
STATISTICS_SECONDS = 1.2
"""PostgreSQL's processes report what they did each second."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one message, at full load: milliseconds of CPU, WAL bytes, commits, rows written."""

    rate: float
    server_ms: float
    client_ms: float
    wal: float
    commits: float
    rows: float


@dataclass(frozen=True, slots=True)
class Waits:
    """Milliseconds from the commit to the start of the job at 100 messages a second, and messages a second."""

    p50: float
    p95: float
    backlog: float
    one: float


def at_once(board: Board, slot: int) -> Job:
    """A job that does nothing."""
    return Job(board, slot)


def cost(name: str, server: Queues, load: Load) -> Cost:
    """Fronts put as fast as they can, consumers do nothing with it."""
    with run(name, server, load, at_once) as made:
        made.start_all()
        made.sql("checkpoint")
        before, clients = made.spent(), _client_seconds(made)
        began = time.monotonic()
        put = made.put_all()
        made.wait(lambda: made.board.ended >= put, DRAIN_SECONDS)
        after, clients = made.spent(), _client_seconds(made) - clients + sum(made.board.cpu)
        time.sleep(STATISTICS_SECONDS)
        late = made.spent()
        spent = replace(after, commits=late.commits, rows=late.rows).since(before)
        ended = [event for event in made.board.events() if event.kind == END]
    return Cost(
        len(ended) / (ended[-1].at - began),
        spent.cpu * 1e3 / len(ended),
        clients * 1e3 / len(ended),
        spent.wal / len(ended),
        spent.commits / len(ended),
        spent.rows / len(ended),
    )


def waits(name: str, server: Queues, steady: Load, backlog: Load, one: Load) -> Waits:
    """A steady load, then a backlog of many conversations, then one of a single conversation."""
    with run(name, server, steady, at_once) as made:
        made.start_all()
        put = made.put_all()
        made.wait(lambda: made.board.ended >= put, DRAIN_SECONDS)
        starts = {event.message: event.at for event in reversed(made.board.events()) if event.kind == START}
        waited = [max(0.0, at - made.board.committed[message]) * 1e3 for message, at in starts.items()]
    found = (_drained(name, server, load) for load in (backlog, one))
    return Waits(percentile(waited, 0.5), percentile(waited, 0.95), *found)


def _drained(name: str, server: Queues, load: Load) -> float:
    """Messages a second of a backlog, from the first job's start."""
    with run(name, server, load, at_once) as made:
        made.start_fronts()
        put = made.put_all()
        made.start_consumers(*SLOTS)
        made.wait(lambda: made.board.ended >= put, LOOK_SECONDS)
        events = made.board.events()
    ended = [event for event in events if event.kind == END]
    return len(ended) / (ended[-1].at - events[0].at) if ended else 0.0


def _client_seconds(made: Run) -> float:
    """CPU time of the consumers."""
    return sum(cpu_seconds(process.pid) for process in made.consumers.values() if process.pid)


def costs_table(found: Mapping[str, Sequence[Cost]], notes: tuple[str, ...]) -> Section:
    """Medians of the rounds."""
    lines: list[tuple[str, ...]] = [
        (
            *("queue", "messages/s", "PostgreSQL's CPU, ms", "client CPU, ms"),
            *("WAL, bytes", "commits", "rows written"),
        )
    ]
    for name, rounds in found.items():
        cells = (spread([getattr(each, field) for each in rounds], digits) for field, digits in _COLUMNS)
        lines.append((name, *cells))
    figures = {name: [asdict(each) for each in rounds] for name, rounds in found.items()}
    return Section("cost", tuple(lines), notes, True, figures)


_COLUMNS = (("rate", 0), ("server_ms", 2), ("client_ms", 2), ("wal", 0), ("commits", 2), ("rows", 1))


def waits_table(found: Mapping[str, Sequence[Waits]], notes: tuple[str, ...]) -> Section:
    """Medians of the rounds."""
    lines: list[tuple[str, ...]] = [
        (
            *("queue", "to the start p50, ms", "p95, ms"),
            *("with a backlog, messages/s", "one conversation, messages/s"),
        )
    ]
    for name, rounds in found.items():
        columns = ([getattr(each, field) for each in rounds] for field in ("p50", "p95", "backlog", "one"))
        lines.append((name, *(f"{statistics.median(column):.0f}" for column in columns)))
    figures = {name: [asdict(each) for each in rounds] for name, rounds in found.items()}
    return Section("waits", tuple(lines), notes, True, figures)
