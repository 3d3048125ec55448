"""Whether the bot stays as it was: thousands of turns of all kinds, with failures of the model and of Telegram, and its
memory, open files, database and time to answer meanwhile."""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bots.measure import QUESTION, Session, alone
from benchmarks.bots.servers import TIMEOUT_SECONDS, Call, People, Servers
from benchmarks.reporting.section import (
    VERDICTS,
    Section,
    answered,
    load,
    parser,
    percentile,
    print_progress,
)
from benchmarks.turns import CALLS

TURNS, QUICK = 100_000, 200
CHATS = 60
LIMIT_PERCENT = 5.0
"""Maximum deviation of memory from its mean, up or down."""
DATABASE_LIMIT_PERCENT = 5.0
"""Maximum deviation of the database's size from what the growth of its first half predicts."""
DESCRIPTOR_LIMIT = 5
"""Open files, without connections, in the second half above those of the first."""
CONNECTION_LIMIT = CHATS + 20
"""Connections at any time: one to the model for each chat, and those to Telegram. They stay open after a peak, so their
number grows towards this."""
P95_LIMIT = 1.25
"""The time to answer of the last fifth to that of the first."""
MAX_WARM_UP, SAMPLES = 1_000, 100
SLOW_SECONDS = 2.2
"""Duration of a slow answer: long enough for the typing notice and two previews."""
FIRST_CHAT = 40_000
TELL_EVERY = 500
HEADINGS = ("turns: what must stay", "after warm-up", "in the middle", "at the end", "deviation", "limit", "")

MODEL_FAULTS: tuple[dict[str, object], ...] = (
    {"kind": "fail", "status": 500},
    {"kind": "break_stream", "after_chunks": 2},
    {"kind": "fail", "status": 429, "retry_after": 1},
    {"kind": "truncate"},
    {"kind": "reset"},
    {"kind": "truncate", "abrupt": True},
    {"kind": "garbage"},
    {"kind": "empty"},
)
"""What the model does once to a question, in turn."""
TELEGRAM_FAULTS = (
    ("sendMessage", "server_error"),
    ("getUpdates", "drop_before"),
    ("sendMessage", "drop_after"),
    ("sendMessage", "too_many"),
    ("getUpdates", "server_error"),
    ("sendMessage", "drop_before"),
)
"""What Telegram does once to the next call of a method, in turn."""

_SLOW_EVERY, _NEW_EVERY, _TOOLS_EVERY, _ROUNDS_EVERY, _FAULT_EVERY, _TELEGRAM_EVERY = 40, 25, 4, 12, 30, 400


@dataclass(frozen=True, slots=True)
class State:
    """The process after a number of turns: resident megabytes, open files, connections, megabytes of the database."""

    turns: int
    megabytes: float
    descriptors: int
    connections: int
    database: float


@dataclass(slots=True)
class Soak:
    """What was measured. `plain` has the seconds to the answer of plain turns, in order."""

    states: list[State] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if everything stayed flat, else 1."""
    options = parser("benchmarks.soak", __doc__)
    options.add_argument("--turns", type=int, default=TURNS, help="(%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.turns))


def run(turns: int) -> Section:
    """Start the servers and the bot, run the turns, and stop them."""
    before, began = load(), time.monotonic()
    with alone(FIRST_CHAT) as session:
        found = talk(session, turns, max(1, turns // SAMPLES))
    conditions = f"{time.monotonic() - began:.0f} s, {before} at the start, {load().split()[-1]} at the end"
    return report(found, min(MAX_WARM_UP, turns // 10), conditions)


def talk(session: Session, turns: int, every: int) -> Soak:
    """Run turns of sixty people at a time, who write again as soon as they are answered; looks at the process after
    each `every` turns. Raises TimeoutError if an answer doesn't come."""
    people, servers = list(itertools.islice(session.chats, CHATS)), session.servers
    numbers, done, found = iter(range(turns)), 0, Soak()
    waiting = _say(servers, zip(people, numbers, strict=False))
    while done < turns:
        new = _answered(servers.people, waiting)
        for user, at in new.items():
            number, since = waiting.pop(user)
            done += 1
            if _is_plain(number):
                found.plain.append(at - since)
            if done % every == 0:
                found.states.append(_state(session, done))
            if done % TELL_EVERY == 0:
                print_progress(f"soak: {done} of {turns} turns, {session.process.rss_mb():.1f} MB")
        waiting |= _say(servers, zip(new, numbers, strict=False))
    return found


Waiting = dict[int, tuple[int, float]]
"""The number and the time of the message that a person waits to have answered."""


def _say(servers: Servers, messages: Iterator[tuple[int, int]]) -> Waiting:
    """Send the messages with these numbers, as (user, number), after preparing both servers."""
    asked = [(user, number, _ask(servers, number)) for user, number in messages]
    now = time.monotonic()
    if asked:
        servers.people.each_says([(user, text) for user, _, text in asked])
    return {user: (number, now) for user, number, _ in asked}


def _answered(people: People, waiting: Waiting) -> dict[int, float]:
    """Who got an answer, and when; waits for one."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < until:
        new = (each for each in people.replies() if each.user in waiting and each.at >= waiting[each.user][1])
        if found := {each.user: each.at for each in sorted(new, key=lambda each: -each.at)}:  # the first answer counts
            return found
    raise TimeoutError(f"no reply in {TIMEOUT_SECONDS:g} s")


def _ask(servers: Servers, number: int) -> str:
    """The message of a turn, after preparing the servers. By its number: plain, slow enough for previews, with tools in
    one round or in three, with a fault, or a new conversation."""
    if _nth(number, _NEW_EVERY):
        return "/new"
    mark = f"#{number}."
    if _nth(number, _SLOW_EVERY):
        servers.model.will_take(SLOW_SECONDS, mark)
    elif _nth(number, _TOOLS_EVERY):
        for calls in _rounds(number):
            servers.model.will_call(calls, mark)
    elif _nth(number, _FAULT_EVERY):
        servers.model.will_fail(MODEL_FAULTS[number // _FAULT_EVERY % len(MODEL_FAULTS)], mark)
    if _nth(number, _TELEGRAM_EVERY, 1):
        servers.people.telegram_fails(*TELEGRAM_FAULTS[number // _TELEGRAM_EVERY % len(TELEGRAM_FAULTS)])
    return f"{QUESTION} {mark}"


def _is_plain(number: int) -> bool:
    every = (_NEW_EVERY, _SLOW_EVERY, _TOOLS_EVERY, _FAULT_EVERY)
    return not any(_nth(number, each) for each in every) and not _nth(number, _TELEGRAM_EVERY, 1)


def _nth(number: int, every: int, before: int = 0) -> bool:
    return number % every == every - 1 - before


def _rounds(number: int) -> Iterator[tuple[Call, ...]]:
    return ((call,) for call in CALLS) if _nth(number, _ROUNDS_EVERY) else iter((CALLS,))


def _state(session: Session, turns: int) -> State:
    database = sum(each.stat().st_size for each in session.workspace.glob("tierbot.db*")) / 1e6
    descriptors = [_target(each) for each in Path(f"/proc/{session.process.pid}/fd").iterdir()]
    sockets = sum(each.startswith("socket:") for each in descriptors)
    return State(turns, session.process.rss_mb(), len(descriptors) - sockets, sockets, database)


def _target(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)
    except FileNotFoundError:  # closed meanwhile
        return ""


def furthest(values: Sequence[float]) -> float:
    """Percentage between the mean and the value furthest from it."""
    mean = statistics.fmean(values)
    return max(abs(each - mean) for each in values) / mean * 100


def report(found: Soak, warm_up: int, conditions: str) -> Section:
    """The table and its verdicts, without what was measured during the warm-up."""
    states = [each for each in found.states if each.turns >= warm_up]
    rows = [_memory(states), _descriptors(states), _connections(states), _database(states), _time(found.plain)]
    notes = (
        f"{found.states[-1].turns:,} turns of one process, {CHATS} chats at a time, streaming on, {len(states)} "
        f"samples after {warm_up:,} turns to warm up; {conditions}.",
        f"Every {_NEW_EVERY}th turn is /new, every {_SLOW_EVERY}th takes {SLOW_SECONDS:g} s and is previewed, a "
        "quarter has three tool calls, in one round or in three.",
        f"Every {_FAULT_EVERY}th turn without tools meets a fault of the model, every {_TELEGRAM_EVERY}th one of "
        f"Telegram: {len(MODEL_FAULTS)} and {len(TELEGRAM_FAULTS)} kinds in turn.",
        "The database's size is computed from its growth in the first half. 1 MB is 10⁶ bytes.",
    )
    figures = {
        "warm_up": warm_up,
        "samples": [[each.turns, each.megabytes, each.descriptors, each.connections, each.database] for each in states],
    }
    lines = (HEADINGS, *((*texts, VERDICTS[kept]) for texts, kept in rows))
    return Section("soak", lines, notes, all(kept for _, kept in rows), figures)


Row = tuple[tuple[str, ...], bool]
"""The texts of a line, and whether its limit is kept."""


def _memory(states: Sequence[State]) -> Row:
    values = [each.megabytes for each in states]
    away = furthest(values)
    shown = (*_three("{:.1f}", values), f"{away:.1f} % from the mean", f"≤ {LIMIT_PERCENT:g} %")
    return ("resident memory, MB", *shown), away <= LIMIT_PERCENT


def _descriptors(states: Sequence[State]) -> Row:
    values = [each.descriptors for each in states]
    more = max(values[len(values) // 2 :]) - max(values[: len(values) // 2 + 1])
    shown = (*_three("{}", values), f"{more:+} in the second half", f"≤ {DESCRIPTOR_LIMIT}")
    return ("open files", *shown), more <= DESCRIPTOR_LIMIT


def _connections(states: Sequence[State]) -> Row:
    values = [each.connections for each in states]
    shown = (*_three("{}", values), f"at most {max(values)}", f"≤ {CONNECTION_LIMIT}")
    return ("connections", *shown), max(values) <= CONNECTION_LIMIT


def _database(states: Sequence[State]) -> Row:
    values, half = [each.database for each in states], states[: max(2, len(states) // 2)]
    away = 0.0
    if len(states) > 2:
        fit = statistics.linear_regression([each.turns for each in half], [each.database for each in half])
        away = (values[-1] / (fit.slope * states[-1].turns + fit.intercept) - 1) * 100
    shown = (*_three("{:.1f}", values), f"{away:+.1f} % from computed", f"± {DATABASE_LIMIT_PERCENT:g} %")
    return ("database, MB", *shown), abs(away) <= DATABASE_LIMIT_PERCENT


def _time(plain: Sequence[float]) -> Row:
    fifth = max(1, len(plain) // 5)
    parts = (plain[:fifth], plain[2 * fifth : 3 * fifth] or plain[:fifth], plain[-fifth:])
    values = [percentile(part, 0.95) * 1000 for part in parts]
    ratio = values[-1] / values[0]
    shown = (*(f"{each:.0f}" for each in values), f"{ratio:.2f}×", f"≤ {P95_LIMIT:g}×")
    return ("plain turn p95, ms (fifths)", *shown), ratio <= P95_LIMIT


def _three(form: str, values: Sequence[float]) -> tuple[str, str, str]:
    """The first, the middle and the last."""
    return form.format(values[0]), form.format(values[len(values) // 2]), form.format(values[-1])


if __name__ == "__main__":
    sys.exit(main())
