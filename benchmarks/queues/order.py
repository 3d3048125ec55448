"""Whether a conversation's messages run one after the other, also while some fail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from benchmarks.queues.board import START, Board, Event
from benchmarks.queues.contender import Job
from benchmarks.queues.processes import run
from benchmarks.queues.server import Queues
from benchmarks.queues.work import Load
from benchmarks.reporting.section import Section

LOAD = Load(messages=2_000, conversations=100, burst=5, batch=20)
QUICK = replace(LOAD, messages=200)
JOB_SECONDS = 0.01
FAILING = 10
"""Every tenth message fails once."""
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """Messages that started before an earlier one of their conversation had ended; messages that never ended."""

    messages: int
    early: int
    missing: int


def order(name: str, server: Queues, load: Load, failing: int) -> Order:
    """Bursts of each conversation; `failing` as in Job."""
    with run(name, server, load, partial(_job, failing)) as made:
        made.start_all()
        put = made.put_all()
        made.wait(lambda: made.board.ended >= put, SECONDS)
        return judge(made.board.events(), load, put)


def judge(events: Sequence[Event], load: Load, put: int) -> Order:
    """From the events of a run."""
    started: dict[int, float] = {}
    ended: dict[int, float] = {}
    for event in events:
        (started if event.kind == START else ended).setdefault(event.message, event.at)
    latest: defaultdict[int, float] = defaultdict(float)
    early = 0
    for message in range(load.messages):
        conversation = load.message(message).conversation
        early += started.get(message, float("inf")) < latest[conversation]
        latest[conversation] = max(latest[conversation], ended.get(message, float("inf")))
    return Order(put, early, put - len(ended))


def table(found: Mapping[str, Mapping[int, Order]], notes: tuple[str, ...]) -> Section:
    """One line per queue."""
    lines: list[tuple[str, ...]] = [("queue", "early, none fails", "early, 10 % fail once", "never ended")]
    for name, kinds in found.items():
        share = (f"{each.early / each.messages:.1%}" if each.early else "0" for each in kinds.values())
        lines.append((name, *share, str(sum(each.missing for each in kinds.values()))))
    figures = {name: {str(kind): asdict(each) for kind, each in kinds.items()} for name, kinds in found.items()}
    return Section("order", tuple(lines), notes, True, figures)


def _job(failing: int, board: Board, slot: int) -> Job:
    return Job(board, slot, JOB_SECONDS, failing)
