"""Whether memory stays flat: one bot process, thousands of turns of all kinds, and its resident memory over time."""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.bots.measure import QUESTION, Session, alone
from benchmarks.bots.servers import TIMEOUT_SECONDS, Call, Model, Reply
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, print_progress
from benchmarks.turns import CALLS

TURNS, QUICK = 10_000, 200
CHATS = 20
LIMIT_PERCENT = 5.0
"""Maximum deviation of memory from its mean, up or down."""
MAX_WARM_UP, SAMPLES = 1_000, 100
SLOW_SECONDS = 2.2
"""Duration of a slow answer: long enough for the typing notice and two previews."""
FIRST_CHAT = 40_000
TELL_EVERY = 500
HEADINGS = (
    *("resident memory", "after warm-up, MB", "at the end, MB", "MB in 1,000 turns", "furthest from the mean"),
    *("limit", ""),
)

_SLOW_EVERY, _NEW_EVERY, _TOOLS_EVERY, _ROUNDS_EVERY = 40, 25, 4, 12


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident megabytes after a number of turns."""

    turns: int
    megabytes: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if memory stayed flat, else 1."""
    options = parser("benchmarks.soak", __doc__)
    options.add_argument("--turns", type=int, default=TURNS, help="(%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.turns))


def run(turns: int) -> Section:
    """Start the servers and the bot, run the turns, and stop them."""
    before, began = load(), time.monotonic()
    with alone(FIRST_CHAT) as session:
        samples = talk(session, turns, max(1, turns // SAMPLES))
    conditions = f"{time.monotonic() - began:.0f} s, {before} at the start, {load().split()[-1]} at the end"
    return report(samples, min(MAX_WARM_UP, turns // 10), conditions)


def talk(session: Session, turns: int, every: int) -> list[Memory]:
    """Run turns of twenty people at a time, who write again as soon as they are answered; returns the memory after each
    `every` turns. Raises TimeoutError if an answer doesn't come."""
    people = list(itertools.islice(session.chats, CHATS))
    model, numbers = session.servers.model, iter(range(turns))
    answered: set[Reply] = set()
    samples: list[Memory] = []
    first = [(user, _ask(model, number)) for user, number in zip(people, numbers, strict=False)]
    session.servers.people.each_says(first)
    last_reply = time.monotonic()
    while len(answered) < turns:
        new = [reply for reply in session.servers.people.replies() if reply.user in people and reply not in answered]
        if new:
            last_reply = time.monotonic()
        elif time.monotonic() > last_reply + TIMEOUT_SECONDS:
            raise TimeoutError(f"no reply in {TIMEOUT_SECONDS:g} s, after {len(answered)} turns")
        for reply in new:
            answered.add(reply)
            if len(answered) % every == 0:
                samples.append(Memory(len(answered), session.process.rss_mb()))
            if len(answered) % TELL_EVERY == 0:
                print_progress(
                    f"soak: {len(answered)} of {turns} turns, {samples[-1].megabytes if samples else 0:.1f} MB"
                )
        onward = [(reply.user, _ask(model, number)) for reply, number in zip(new, numbers, strict=False)]
        if onward:
            session.servers.people.each_says(onward)
    return samples


def _ask(model: Model, number: int) -> str:
    """The message of a turn, after preparing the model. By its number: plain, slow enough for previews, with tools in
    one round or in three, or a new conversation."""
    if number % _NEW_EVERY == _NEW_EVERY - 1:
        return "/new"
    mark = f"#{number}."
    if number % _SLOW_EVERY == _SLOW_EVERY - 1:
        model.will_take(SLOW_SECONDS, mark)
    elif number % _TOOLS_EVERY == _TOOLS_EVERY - 1:
        for calls in _rounds(number):
            model.will_call(calls, mark)
    return f"{QUESTION} {mark}"


def _rounds(number: int) -> Iterator[tuple[Call, ...]]:
    return ((call,) for call in CALLS) if number % _ROUNDS_EVERY == _ROUNDS_EVERY - 1 else iter((CALLS,))


def furthest(samples: Sequence[Memory]) -> float:
    """Percentage between the mean and the sample furthest from it."""
    mean = statistics.fmean(each.megabytes for each in samples)
    return max(abs(each.megabytes - mean) for each in samples) / mean * 100


def slope(samples: Sequence[Memory]) -> float:
    """Megabytes per 1,000 turns, by least squares; 0 for a single sample."""
    if len(samples) < 2:
        return 0.0
    turns, megabytes = [each.turns for each in samples], [each.megabytes for each in samples]
    return statistics.linear_regression(turns, megabytes).slope * 1000


def report(samples: Sequence[Memory], warm_up: int, conditions: str) -> Section:
    """The table and its verdict, without the samples of the warm-up."""
    counted = [each for each in samples if each.turns >= warm_up]
    away = furthest(counted)
    kept = away <= LIMIT_PERCENT
    measured = (f"{counted[0].megabytes:.1f}", f"{counted[-1].megabytes:.1f}", f"{slope(counted):+.2f}")
    line = (f"{samples[-1].turns:,} turns", *measured, f"{away:.1f} %", f"≤ {LIMIT_PERCENT:g} %", VERDICTS[kept])
    notes = (
        f"One process, {CHATS} chats at a time, streaming on, {len(counted)} samples after {warm_up:,} turns to warm "
        f"up; {conditions}.",
        f"Of {_SLOW_EVERY * 5} turns {_SLOW_EVERY * 5 // _NEW_EVERY} are /new, 5 take {SLOW_SECONDS:g} s and are "
        "previewed, a quarter has three tool calls, in one round or in three. 1 MB is 10⁶ bytes.",
    )
    figures = {"warm_up": warm_up, "samples": [[each.turns, each.megabytes] for each in samples]}
    return Section("soak", (HEADINGS, line), notes, kept, figures)


if __name__ == "__main__":
    sys.exit(main())
