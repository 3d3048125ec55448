"""Measures a backlog: thousands of messages at once in many chats, and commands sent meanwhile."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.bots.measure import QUESTION, Session, alone
from benchmarks.bots.servers import TIMEOUT_SECONDS, Reply
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress

MESSAGES, QUICK = 10_000, 400
CHATS = 200
FIRST_CHAT = 80_000
COMMAND = "/whoami"
COMMAND_INTERVAL_SECONDS = 0.5
"""Seconds between two commands, each from a different person."""
POLL_SECONDS = 0.05
PROGRESS_INTERVAL = 1_000
MAX_P95_SECONDS = 1.0
MAX_GROWTH_PERCENT = 15.0
HEADINGS = ("backlog", "seconds", "command p50, ms", "command p95, ms", "memory before, MB", "peak, MB", "limits", "")


@dataclass(frozen=True, slots=True)
class Drain:
    """Seconds to the last answer, seconds per command, and resident megabytes."""

    seconds: float
    commands: Sequence[float]
    before: float
    peak: float

    @property
    def growth(self) -> float:
        """Percentage from the memory before to the peak."""
        return (self.peak / self.before - 1) * 100


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.backlog", __doc__)
    options.add_argument("--messages", type=int, default=MESSAGES, help="(%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.messages))


def run(messages: int) -> Section:
    """Starts the servers and the bot, sends everything at once, and waits for the last answer."""
    before = load()
    with alone(FIRST_CHAT) as session:
        drained = drain(session, messages)
    return report(messages, drained, f"{before} at the start, {load().split()[-1]} at the end")


def drain(session: Session, messages: int) -> Drain:
    """Raises TimeoutError if answers are missing."""
    people = set(itertools.islice(session.chats, CHATS))
    session.turn(next(session.chats))
    before = peak = session.process.rss_mb()
    server = session.servers.people
    server.each_says(list(itertools.islice(((user, QUESTION) for user in itertools.cycle(sorted(people))), messages)))
    began = last_reply = time.monotonic()
    seen: set[Reply] = set()
    asked: dict[int, float] = {}
    taken: list[float] = []
    left, due = messages, began
    while left or asked:
        if left and time.monotonic() >= due:
            user = next(session.chats)
            asked[user] = server.say(user, COMMAND)
            due = time.monotonic() + COMMAND_INTERVAL_SECONDS
        new = set(server.replies()) - seen
        seen |= new
        if new:
            last_reply = time.monotonic()
        elif time.monotonic() > last_reply + TIMEOUT_SECONDS:
            raise TimeoutError(f"no reply in {TIMEOUT_SECONDS:g} s, {left} are missing")
        for reply in new:
            if reply.user in people:
                left -= 1
                if left % PROGRESS_INTERVAL == 0:
                    print_progress(f"backlog: {messages - left} of {messages} after {reply.at - began:.0f} s")
            elif reply.user in asked:
                taken.append(reply.at - asked.pop(reply.user))
        peak = max(peak, session.process.rss_mb())
        time.sleep(POLL_SECONDS)
    return Drain(max(reply.at for reply in seen) - began, taken, before, peak)


def report(messages: int, drained: Drain, conditions: str) -> Section:
    """The table and its verdict."""
    p50, p95 = percentile(drained.commands, 0.5), percentile(drained.commands, 0.95)
    kept = p95 <= MAX_P95_SECONDS and drained.growth <= MAX_GROWTH_PERCENT
    line = (
        *(f"{messages:,} messages in {CHATS} chats", f"{drained.seconds:.1f}"),
        *(f"{p50 * 1000:.0f}", f"{p95 * 1000:.0f}"),
        *(f"{drained.before:.1f}", f"{drained.peak:.1f} ({drained.growth:+.1f} %)"),
        *(f"p95 ≤ {MAX_P95_SECONDS:g} s, memory ≤ +{MAX_GROWTH_PERCENT:g} %", VERDICTS[kept]),
    )
    longest = max(drained.commands)
    notes = (
        f"{len(drained.commands)} times {COMMAND}, one every {COMMAND_INTERVAL_SECONDS:g} s from chats without a "
        f"backlog; the longest took {longest:.1f} s. {conditions}. 1 MB is 10⁶ bytes.",
    )
    figures = {
        "messages": messages,
        "chats": CHATS,
        "seconds": drained.seconds,
        "commands": list(drained.commands),
        "before_mb": drained.before,
        "peak_mb": drained.peak,
    }
    return Section("backlog", (HEADINGS, line), notes, kept, figures)


if __name__ == "__main__":
    sys.exit(main())
