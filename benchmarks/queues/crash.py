"""What becomes of the jobs of a consumer that is killed or frozen, and of all jobs when PostgreSQL crashes."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from benchmarks.queues.board import END, START, Board, Event
from benchmarks.queues.contender import Job
from benchmarks.queues.processes import SLOTS, Run, run
from benchmarks.queues.server import Queues
from benchmarks.queues.work import Load
from benchmarks.reporting.section import Section

LOAD = Load(messages=400, conversations=100, batch=100, ahead=True)
QUICK = replace(LOAD, messages=80, conversations=20)
JOB_SECONDS = 1.0
BUSY, CRASH_SECONDS = 10, 0.3
"""The crash comes so long after the busier consumer runs so many jobs."""
FROZEN_SECONDS = 10.0
RESTART_SECONDS = 30.0
"""A killed consumer starts again after so long, as after the restart of its machine."""
DIED_SECONDS = 1.0
"""A consumer that ends by itself starts again after so long."""
DEADLINE_SECONDS = 60.0
KILLED, FROZEN, SERVER = "kill -9", f"SIGSTOP, {FROZEN_SECONDS:.0f} s", "PostgreSQL crashes"
KINDS = (KILLED, FROZEN, SERVER)


@dataclass(frozen=True, slots=True)
class Crash:
    """Jobs under way at the crash, and seconds until each went on; seconds until everything was stored; messages whose
    result is missing, whose handler ended twice, whose result is stored twice; consumers that ended by themselves."""

    interrupted: int
    median: float | None
    longest: float | None
    all_stored: float | None
    lost: int
    ran_twice: int
    stored_twice: int
    died: int


def crash(name: str, server: Queues, load: Load, kind: str) -> Crash:
    """All messages are put at once; while both consumers work, one of them or the server crashes."""
    with run(name, server, load, _job) as made:
        made.start_all()
        put = made.load.messages
        made.board.go.set()
        made.wait(lambda: sum(made.board.put) == put, DEADLINE_SECONDS)
        victim = max(SLOTS, key=lambda slot: made.board.logs[slot].running)
        made.wait(lambda: made.board.logs[victim].running >= BUSY, DEADLINE_SECONDS)
        time.sleep(CRASH_SECONDS)
        at = _hit(made, kind, victim)
        stored_after, died = _watch(made, kind, victim, at, put)
        if kind == FROZEN:
            _unfreeze(made, victim, at)
        return judge(made.board.events(), _counted(made), kind, (victim, at, put), (stored_after, died))


def judge(
    events: list[Event],
    stored: Mapping[int, int],
    kind: str,
    what: tuple[int, float, int],
    seen: tuple[float | None, int],
) -> Crash:
    """From the events of a run; `what` is the victim, the time of the crash and the number of messages."""
    victim, at, put = what
    before = [event for event in events if event.at <= at and (event.consumer == victim or kind == SERVER)]
    balance = Counter(event.message for event in before if event.kind == START)
    balance.subtract(event.message for event in before if event.kind == END)
    interrupted = {message for message, count in balance.items() if count > 0}
    waited: dict[int, float] = {}
    for event in events:
        if event.at > at and event.message in interrupted:
            waited.setdefault(event.message, event.at - at)
    complete = interrupted and len(waited) == len(interrupted)
    ends = Counter(event.message for event in events if event.kind == END)
    return Crash(
        len(interrupted),
        statistics.median(waited.values()) if complete else None,
        max(waited.values()) if complete else None,
        seen[0],
        put - len(stored),
        sum(count > 1 for count in ends.values()),
        sum(count > 1 for count in stored.values()),
        seen[1],
    )


def _hit(made: Run, kind: str, victim: int) -> float:
    at = time.monotonic()
    if kind == KILLED:
        made.consumers[victim].kill()
    elif kind == FROZEN:
        pid = made.consumers[victim].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    else:
        made.server.stop()
        made.server.start()
    return at


def _watch(made: Run, kind: str, victim: int, at: float, put: int) -> tuple[float | None, int]:
    """Seconds until everything is stored, or None; and how many consumers ended by themselves."""
    died, frozen = 0, kind == FROZEN
    gone: dict[int, float] = {victim: at + RESTART_SECONDS} if kind == KILLED else {}
    while (now := time.monotonic()) < at + DEADLINE_SECONDS:
        if len(made.stored()) >= put:
            return time.monotonic() - at, died
        if frozen and now > at + FROZEN_SECONDS:
            _unfreeze(made, victim, at)
            frozen = False
        for slot in SLOTS:
            if slot not in gone and not made.consumers[slot].is_alive():
                died += 1
                gone[slot] = now + DIED_SECONDS
        for slot in [slot for slot, when in gone.items() if now > when]:
            del gone[slot]
            made.start_consumers(slot)
        time.sleep(0.1)
    return None, died


def _unfreeze(made: Run, victim: int, at: float) -> None:
    """After the time, let it go on, and wait for what it still does."""
    time.sleep(max(0.0, at + FROZEN_SECONDS - time.monotonic()))
    pid = made.consumers[victim].pid
    if pid is not None and made.consumers[victim].is_alive():
        os.kill(pid, signal.SIGCONT)
    time.sleep(2 * JOB_SECONDS)


def _counted(made: Run) -> dict[int, int]:
    """What is stored in the end."""
    time.sleep(2 * JOB_SECONDS)
    return made.stored()


def _job(board: Board, slot: int) -> Job:
    return Job(board, slot, JOB_SECONDS, stores=True)


def table(found: Mapping[str, Mapping[str, Crash]], notes: tuple[str, ...]) -> Section:
    """One line per queue and kind of crash."""
    lines: list[tuple[str, ...]] = [
        (
            *("crash", "queue", "jobs under way", "went on after p50, s", "longest, s", "all stored after, s"),
            *("lost", "ran twice", "stored twice", "consumers that ended"),
        )
    ]
    for kind in KINDS:
        for name, kinds in found.items():
            each = kinds[kind]
            waited = (_seconds(value) if each.interrupted else "" for value in (each.median, each.longest))
            counts = (str(value) for value in (each.lost, each.ran_twice, each.stored_twice, each.died))
            lines.append((kind, name, str(each.interrupted), *waited, _seconds(each.all_stored), *counts))
    figures = {name: {kind: asdict(each) for kind, each in kinds.items()} for name, kinds in found.items()}
    return Section("crash", tuple(lines), notes, True, figures)


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"
