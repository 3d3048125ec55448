"""Measures a backlog: thousands of messages at once in many chats, and commands sent meanwhile."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.bots.measure import QUESTION, Session, alone
from benchmarks.bots.servers import TIMEOUT_SECONDS, Reply
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress

MESSAGES, QUICK = 10_000, 400
CHATS = 200
"""Chats of the first backlog. The second has a chat for each message, the most expensive form."""
FIRST_CHAT = 80_000
COMMAND = "/whoami"
COMMAND_INTERVAL_SECONDS = 0.5
"""Seconds between two commands, each from a different person."""
POLL_SECONDS = 0.05
PROGRESS_INTERVAL = 1_000
MAX_P95_SECONDS = 1.0
MESSAGE_BYTES, CHAT_BYTES = 4_000, 6_000
"""Memory that a waiting message may take, and a chat in which messages wait."""
HEADINGS = (
    *("backlog", "seconds", "command p50, ms", "command p95, ms", "memory before, MB", "peak, MB"),
    *("bytes a message", "limits", ""),
)


@dataclass(frozen=True, slots=True)
class Drain:
    """Seconds to the last answer, seconds per command, and resident megabytes."""

    messages: int
    chats: int
    seconds: float
    commands: Sequence[float]
    before: float
    peak: float

    @property
    def message_bytes(self) -> float:
        """Memory of a waiting message, if all waited at the peak."""
        return (self.peak - self.before) * 1e6 / self.messages

    @property
    def max_bytes(self) -> float:
        """The limit of `message_bytes`."""
        return MESSAGE_BYTES + CHAT_BYTES * self.chats / self.messages

    @property
    def kept(self) -> bool:
        """Whether the limits are kept."""
        return percentile(self.commands, 0.95) <= MAX_P95_SECONDS and self.message_bytes <= self.max_bytes


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.backlog", __doc__)
    options.add_argument("--messages", type=int, default=MESSAGES, help="(%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.messages))


def run(messages: int) -> Section:
    """Sends a backlog in few chats and one in many, each to a fresh bot, and waits for the last answers."""
    before, drained = load(), []
    for chats in (min(CHATS, messages), messages):
        with alone(FIRST_CHAT) as session:
            drained.append(drain(session, messages, chats))
    return report(drained, f"{before} at the start, {load().split()[-1]} at the end")


def drain(session: Session, messages: int, chats: int) -> Drain:
    """Sends everything at once and waits for the last answer. Raises TimeoutError if answers are missing."""
    people = set(itertools.islice(session.chats, chats))
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
    return Drain(messages, chats, max(reply.at for reply in seen) - began, taken, before, peak)


def report(drained: Sequence[Drain], conditions: str) -> Section:
    """The table and its verdict."""
    lines = [HEADINGS, *map(_line, drained)]
    commands = [each for one in drained for each in one.commands]
    notes = (
        f"{len(commands)} times {COMMAND}, one every {COMMAND_INTERVAL_SECONDS:g} s from chats without a backlog; the "
        f"longest took {max(commands):.1f} s. {conditions}. 1 MB is 10⁶ bytes.",
    )
    figures = {"samples": [asdict(each) for each in drained]}
    return Section("backlog", tuple(lines), notes, all(each.kept for each in drained), figures)


def _line(drain: Drain) -> tuple[str, ...]:
    p50, p95 = percentile(drain.commands, 0.5), percentile(drain.commands, 0.95)
    return (
        *(f"{drain.messages:,} messages in {drain.chats:,} chats", f"{drain.seconds:.1f}"),
        *(f"{p50 * 1000:.0f}", f"{p95 * 1000:.0f}", f"{drain.before:.1f}"),
        f"{drain.peak:.1f} ({(drain.peak / drain.before - 1) * 100:+.1f} %)",
        *(
            f"{drain.message_bytes:,.0f}",
            f"p95 ≤ {MAX_P95_SECONDS:g} s, ≤ {drain.max_bytes:,.0f} bytes",
            VERDICTS[drain.kept],
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
