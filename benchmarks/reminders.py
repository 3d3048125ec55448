"""Measures how late reminders are: from the time they are due to the request that the Telegram server receives.

They are inserted into the table of a running bot: spread evenly, with and without Telegram's flood limits, and all at
one instant.
"""

from __future__ import annotations

import itertools
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.bots.contestants import OURS, prepare_workspace
from benchmarks.bots.measure import Session, started_session
from benchmarks.bots.servers import TIMEOUT_SECONDS, servers
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress

REMINDERS, QUICK = 10_000, 60
CHATS = 200
"""Private chats, each of another person, which get reminders in turn."""
FIRST_CHAT = 90_000
COMMAND, ADDED = "/whoami", "/remind in 2 days wake"
BEGIN_SECONDS = 5.0
"""From the last insertion to the first reminder."""
LIMIT = "30/s,1/s per chat,20/min per group"
"""Telegram's flood limits, which the bot keeps by default."""
LIMITED_PER_SECOND, PER_SECOND = 25, 150
"""Reminders due each second with Telegram's limits, and without."""
MAX_P95_SECONDS = 1.0
PROGRESS_INTERVAL = 1_000
HEADINGS = ("reminders", "p50, s", "p95, s", "latest, s", "sent twice", "limit", "")


@dataclass(frozen=True, slots=True)
class Run:
    """The lateness of each reminder in seconds. `limited`: whether p95 has a limit."""

    name: str
    late: Sequence[float]
    twice: int
    limited: bool

    @property
    def kept(self) -> bool | None:
        """Whether p95 and "once each" are kept; None if only measured."""
        if self.twice:
            return False
        return percentile(self.late, 0.95) <= MAX_P95_SECONDS if self.limited else None


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.reminders", __doc__)
    options.add_argument("--count", type=int, default=REMINDERS, help="(%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.count))


def run(count: int) -> Section:
    """Each in a fresh workspace."""
    before = load()
    runs = [
        measure(f"{LIMITED_PER_SECOND} a second, with Telegram's limits", count, count / LIMITED_PER_SECOND, LIMIT),
        measure(f"{PER_SECOND} a second, without", count, count / PER_SECOND, "off"),
        measure("all at one instant, without", count, 0.0, "off"),
    ]
    return report(runs, count, f"{before} at the start, {load().split()[-1]} at the end")


def measure(name: str, count: int, seconds: float, flood_limit: str) -> Run:
    """Reminders spread over `seconds`. Raises TimeoutError if some are missing."""
    bot = replace(OURS, variables=(("TELEGRAM_FLOOD_LIMIT", flood_limit),))
    with tempfile.TemporaryDirectory() as folder, servers() as both:
        workspace = Path(folder) / "workspace"
        prepare_workspace(workspace, both)
        with started_session(bot, both, workspace, itertools.count(FIRST_CHAT)) as session:
            users = [next(session.chats) for _ in range(min(CHATS, count))]
            for user in users:
                session.reply(user, both.people.say(user, COMMAND))
            due = insert(workspace / "tierbot.db", users, count, seconds)
            session.reply(users[0], both.people.say(users[0], ADDED))  # the bot reads the table again
            print_progress(f"{name}: {count} reminders inserted")
            return arrived(name, session, due, limited=seconds > 0)


def insert(database: Path, users: Sequence[int], count: int, seconds: float) -> dict[str, float]:
    """Inserts reminders; returns when each text is due, in monotonic seconds."""
    offset = time.time() - time.monotonic()
    with closing(sqlite3.connect(database, timeout=TIMEOUT_SECONDS)) as connection, connection:
        known = connection.execute("SELECT user_id, person_id FROM identities WHERE platform = 'telegram'")
        people = {int(user): person for user, person in known}
        first = time.time() + BEGIN_SECONDS
        times = {f"number {number}": first + seconds * number / count for number in range(count)}
        rows = [
            (people[user], str(user), text, at)
            for user, (text, at) in zip(itertools.cycle(users), times.items(), strict=False)
        ]
        connection.executemany(
            "INSERT INTO schedules (person_id, platform, chat_id, thread_id, private, kind, text, rule, time_zone, "
            "next_at, state, failures, created_at) "
            "VALUES (?, 'telegram', ?, '', 1, 'reminder', ?, '', 'UTC', ?, 'active', 0, 0)",
            rows,
        )
    return {text: at - offset for text, at in times.items()}


def arrived(name: str, session: Session, due: dict[str, float], limited: bool) -> Run:
    """Waits until all reminders have arrived."""
    at: dict[tuple[int, int], tuple[str, float]] = {}
    texts: set[str] = set()
    while len(texts) < len(due):
        new = session.servers.people.replies()
        for reply in new:
            text = reply.text.removeprefix("⏰ ").split("\n")[0]
            if text in due and (reply.user, reply.message_id) not in at:
                at[reply.user, reply.message_id] = text, reply.at
                texts.add(text)
                if len(texts) % PROGRESS_INTERVAL == 0:
                    print_progress(f"{name}: {len(texts)} arrived")
        if not new and time.monotonic() > max(due.values()) + TIMEOUT_SECONDS:
            raise TimeoutError(f"{len(due) - len(texts)} reminders are missing")
    return Run(name, [each - due[text] for text, each in at.values()], len(at) - len(due), limited)


def report(runs: Sequence[Run], count: int, conditions: str) -> Section:
    """The table and its verdict."""
    notes = (
        f"{count:,} reminders each, for {min(CHATS, count)} people in private chats, beside the loopback servers. "
        f"{conditions}.",
    )
    figures = {"samples": [asdict(each) for each in runs]}
    kept = all(each.kept is not False for each in runs)
    return Section("reminders", (HEADINGS, *map(_line, runs)), notes, kept, figures)


def _line(run: Run) -> tuple[str, ...]:
    p50, p95 = percentile(run.late, 0.5), percentile(run.late, 0.95)
    limit = f"p95 ≤ {MAX_P95_SECONDS:g} s" if run.limited else ""
    figures = (f"{p50:.2f}", f"{p95:.2f}", f"{max(run.late):.2f}", f"{run.twice}")
    return run.name, *figures, limit, VERDICTS[run.kept]


if __name__ == "__main__":
    sys.exit(main())
