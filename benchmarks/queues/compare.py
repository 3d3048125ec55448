"""Queues on PostgreSQL compared: our own claims, procrastinate, PgQueuer, DBOS.

Two fronts put messages, two consumers run a job for each, all against a server of its own. A queue whose packages are
missing is named and left out; `pip install -e .[queues]` installs them.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.queues import crash, order, size, speed
from benchmarks.queues.contender import NAMES, PAYLOAD_BYTES, TOGETHER, contender, missing
from benchmarks.queues.server import Queues, postgres, unavailable
from benchmarks.reporting.section import Section, conclude, load, parser, print_progress, show

ROUNDS = 3
PARTS = ("cost", "waits", "order", "crash", "size")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 whatever the figures are, 2 if they can't be measured."""
    given = _parser().parse_args(arguments)
    if lacking := unavailable():
        print(f"{lacking} is missing.", file=sys.stderr)
        return 2
    absent = {name: packages for name in given.queues if (packages := missing(name))}
    names = [name for name in given.queues if name not in absent]
    if not names:
        print(f"Nothing to measure; not installed: {', '.join(sorted(set(absent.values())))}.", file=sys.stderr)
        return 2
    with postgres() as server:
        sections = [show(_PARTS[part](server, names, given), given.json) for part in given.parts]
    for name, packages in absent.items():
        print_progress(f"Left out: {name} (not installed: {packages}).")
    return conclude(sections, given.json)


def _cost(server: Queues, names: Sequence[str], given: argparse.Namespace) -> Section:
    before = load()
    full = speed.QUICK_FULL if given.quick else speed.FULL
    found: dict[str, list[speed.Cost]] = {name: [] for name in names}
    for number in range(_rounds(given)):
        for name in names:
            print_progress(f"cost, round {number + 1}: {name}")
            found[name].append(speed.cost(name, server, full))
    for name in names:
        print_progress(f"cost, new conversations: {name}")
        found[f"{name}; new conversations"] = [speed.cost(name, server, replace(full, conversations=full.messages))]
    settings = tuple(f"{name}: {contender(name).settings}." for name in names)
    return speed.costs_table(
        found,
        (
            f"{_rounds(given)} interleaved rounds, medians, in brackets the spread; {before}, Python "
            f"{platform.python_version()}, {os.cpu_count()} × {platform.machine()}. Two fronts put payloads of "
            f"{PAYLOAD_BYTES} bytes, {full.batch} in a commit, for {full.seconds:g} s, while at most 1,000 wait; two "
            f"consumers run jobs that do nothing, {TOGETHER} at once. All but the first column is for one message. "
            "New conversations: one round in which each message is in a conversation of its own.",
            *settings,
        ),
    )


def _waits(server: Queues, names: Sequence[str], given: argparse.Namespace) -> Section:
    before = load()
    loads = (speed.STEADY, speed.BACKLOG, speed.ONE)
    if given.quick:
        loads = (speed.QUICK_STEADY, speed.QUICK_BACKLOG, speed.QUICK_ONE)
    found: dict[str, list[speed.Waits]] = {name: [] for name in names}
    for number in range(_rounds(given)):
        for name in names:
            print_progress(f"waits, round {number + 1}: {name}")
            found[name].append(speed.waits(name, server, *loads))
    note = (
        f"{_rounds(given)} interleaved rounds, medians; {before}. From the commit to the start of the job at "
        f"{loads[0].rate:g} messages a second, a commit each; then what two consumers do in their first "
        f"{speed.LOOK_SECONDS:g} s when {loads[1].messages:,} messages of {loads[1].conversations:,} conversations "
        f"wait, or {loads[2].messages:,} of one."
    )
    return speed.waits_table(found, (note,))


def _order(server: Queues, names: Sequence[str], given: argparse.Namespace) -> Section:
    put = order.QUICK if given.quick else order.LOAD
    found: dict[str, dict[int, order.Order]] = {}
    for name in names:
        print_progress(f"order: {name}")
        found[name] = {failing: order.order(name, server, put, failing) for failing in (0, order.FAILING)}
    note = (
        f"{put.messages:,} messages in {put.conversations} conversations, {put.burst} of a conversation one after the "
        f"other, jobs of {order.JOB_SECONDS * 1e3:.0f} ms; {load()}. Early: started before an earlier message of the "
        "conversation had ended."
    )
    return order.table(found, (note,))


def _crash(server: Queues, names: Sequence[str], given: argparse.Namespace) -> Section:
    put = crash.QUICK if given.quick else crash.LOAD
    found: dict[str, dict[str, crash.Crash]] = {name: {} for name in names}
    for kind in crash.KINDS:
        for name in names:
            print_progress(f"crash: {kind}, {name}")
            found[name][kind] = crash.crash(name, server, put, kind)
    note = (
        f"{put.messages} messages of {put.conversations} conversations, jobs of {crash.JOB_SECONDS:g} s that store a "
        f"row; {load()}. The busier of two consumers is killed (and started again after {crash.RESTART_SECONDS:.0f} s) "
        "or frozen, or PostgreSQL is stopped with `-m immediate` and started at once; a consumer that ends by itself "
        f"is started again after {crash.DIED_SECONDS:g} s. Lost: not stored within {crash.DEADLINE_SECONDS:.0f} s."
    )
    return crash.table(found, (note,))


def _size(server: Queues, names: Sequence[str], given: argparse.Namespace) -> Section:
    note = (
        f"Medians of {size.TIMES} fresh processes, beyond SQLAlchemy, asyncpg and pydantic, which the bot has; "
        f"{load()}. The lines are those of the module in `benchmarks/queues`, without comments."
    )
    return size.table([name for name in names if name != "plain, grouped"], (note,))


_PARTS: dict[str, Callable[[Queues, Sequence[str], argparse.Namespace], Section]] = {
    "cost": _cost,
    "waits": _waits,
    "order": _order,
    "crash": _crash,
    "size": _size,
}


def _rounds(given: argparse.Namespace) -> int:
    rounds: int = 1 if given.quick else given.rounds
    return rounds


def _parser() -> argparse.ArgumentParser:
    made = parser("benchmarks.queues", __doc__)
    made.add_argument("--rounds", type=int, default=ROUNDS, help="of cost and waits (%(default)s)")
    made.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=" ".join(PARTS))
    made.add_argument("--queues", nargs="+", choices=NAMES, default=NAMES, metavar="QUEUE", help=", ".join(NAMES))
    return made
