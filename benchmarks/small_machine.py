"""Our bot with 1 GB of memory and a quarter of a core, beside the same run unlimited. Needs root, for a cgroup."""

from __future__ import annotations

import itertools
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bots.contestants import OURS, Contestant, prepare_workspace
from benchmarks.bots.measure import Figures, Session, started_session
from benchmarks.bots.servers import Servers, servers
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress, spread

MEMORY_BYTES, CORES = 2**30, 0.25
PERIOD = 100_000
ROUNDS, QUICK = 3, 1
TURNS, QUICK_TURNS = 40, 6
FIRST_CHAT = 80_000
WEATHER = "What will the weather be like in Lisbon tomorrow?"
FREE, SMALL = "without a limit", "1 GB, a quarter of a core"
CGROUPS = Path("/sys/fs/cgroup")
JOIN = (
    "import os, sys\n"
    "for path in sys.argv[1:]: open(path, 'w').write(str(os.getpid()))\n"
    "os.execv(sys.executable, [sys.executable, '-m', 'bot', 'run'])"
)
"""Enters the cgroups named as arguments, then becomes the bot."""

Rounds = Mapping[str, Sequence[Figures]]


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and its maximum on the small machine."""

    figure: str
    digits: int
    most: float | None = None
    least: float | None = None

    def limit(self) -> str:
        """The limit in words."""
        if self.least is not None:
            return f"≥ {self.least:g}"
        return f"≤ {self.most:g}" if self.most is not None else ""

    def holds(self, rounds: Rounds) -> bool | None:
        """Whether the limit is kept in every round; None without one."""
        if self.most is None and self.least is None:
            return None
        values = [each[self.figure] for each in rounds[SMALL]]
        return (self.most is None or max(values) <= self.most) and (self.least is None or min(values) >= self.least)


ROWS = (
    Row("very first start to first poll, s", 2, most=10),
    Row("start to first poll, s", 2, most=10),
    Row("start to first reply, s", 2, most=30),
    Row("turn p50, ms", 0, most=1000),
    Row("turn p95, ms", 0),
    Row("turns answered", 0, least=QUICK_TURNS),
    Row("tools for a question about the weather", 0, least=1),
    Row("resident memory at its highest, MB", 0, most=512),
    Row("memory of the cgroup with files at its highest, MB", 0, most=1074),
    Row("swapped, MB", 1, most=0),
)


@dataclass(frozen=True, slots=True)
class Limits:
    """A cgroup of either version. `folders` have its processes; `peak` is its highest use of memory in bytes."""

    folders: tuple[Path, ...]
    peak: Path

    def files(self) -> tuple[str, ...]:
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.small_machine", __doc__)
    return answered(options, arguments, lambda given: run(given.quick))


def run(quick: bool) -> Section:
    """Both in every round, one after the other, with the same servers, which have no limit."""
    before, rounds = load(), QUICK if quick else ROUNDS
    found: dict[str, list[Figures]] = {FREE: [], SMALL: []}
    chats = itertools.count(FIRST_CHAT)
    with tempfile.TemporaryDirectory() as folder, servers() as loopback:
        for number, name in itertools.product(range(rounds), found):
            print_progress(f"small machine: {name}, round {number + 1} of {rounds}")
            limits = (MEMORY_BYTES, CORES) if name == SMALL else (0, 0.0)
            with cgroup(*limits) as group:
                bot = replace(OURS, command=("-c", JOIN, *group.files()))
                turns = QUICK_TURNS if quick else TURNS
                figures = _measure(bot, loopback, Path(folder) / "workspace", chats, turns)
                peak = int(group.peak.read_text()) / 1e6
                found[name].append(figures | {"memory of the cgroup with files at its highest, MB": peak})
    return report(found, before)


@contextmanager
def cgroup(memory: int, cores: float) -> Iterator[Limits]:
    """A cgroup with so many bytes of memory and cores; 0 for no limit. Up to its limit it goes before all else on the
    machine. Raises PermissionError without root."""
    name = f"tierbot-benchmark-{os.getpid()}"
    made: tuple[Path, ...]
    quota = int(cores * PERIOD)
    if (CGROUPS / "cgroup.controllers").exists():
        folder = CGROUPS / name
        (CGROUPS / "cgroup.subtree_control").write_text("+memory +cpu")
        values = {"memory.max": str(memory or "max"), "cpu.max": f"{quota or 'max'} {PERIOD}", "cpu.weight": "10000"}
        made, settings, peak = (folder,), {folder / key: value for key, value in values.items()}, folder / "memory.peak"
    else:
        by_memory, by_cpu = CGROUPS / "memory" / name, CGROUPS / "cpu" / name
        settings = {
            by_memory / "memory.limit_in_bytes": str(memory or -1),
            by_cpu / "cpu.cfs_period_us": str(PERIOD),
            by_cpu / "cpu.cfs_quota_us": str(quota or -1),
            by_cpu / "cpu.shares": "262144",
        }
        made, peak = (by_memory, by_cpu), by_memory / "memory.max_usage_in_bytes"
    for folder in made:
        folder.mkdir()
    try:
        for path, value in settings.items():
            path.write_text(value)
        yield Limits(made, peak)
    finally:
        for folder in made:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a cgroup, which is busy for a moment after its last process."""
    for _ in range(100):
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)
    folder.rmdir()


def _measure(bot: Contestant, servers: Servers, workspace: Path, chats: Iterator[int], turns: int) -> Figures:
    """Two starts, then turns one after the other: each person's first, which selects tools, and a second one."""
    prepare_workspace(workspace, servers)
    with started_session(bot, servers, workspace, chats) as first:
        found = {"very first start to first poll, s": first.figures["start to first poll, s"]}
    with started_session(bot, servers, workspace, chats) as session:
        taken = [session.turn(user) for user in itertools.islice(chats, turns // 2) for _ in range(2)]
        found |= session.figures | {
            "turn p50, ms": statistics.median(taken) * 1000,
            "turn p95, ms": percentile(taken, 0.95) * 1000,
            "turns answered": float(len(taken)),
            "tools for a question about the weather": float(_tools(session, next(chats))),
            "resident memory at its highest, MB": _status(session, "VmHWM"),
            "swapped, MB": _status(session, "VmSwap"),
        }
    return found


def _tools(session: Session, user: int) -> int:
    """How many tools that are named after the weather the model gets with a question about it."""
    sent = session.servers.people.say(user, WEATHER)
    session.reply(user, sent)
    return sum("weather" in name or "forecast" in name for name in session.servers.model.last_tools())


def _status(session: Session, name: str) -> float:
    """A figure of the bot's process in 10⁶ bytes."""
    found = re.search(rf"(?m)^{name}:\s+(\d+) kB", Path(f"/proc/{session.process.pid}/status").read_text())
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def report(rounds: Rounds, conditions: str) -> Section:
    """The table and its verdicts."""
    lines: list[tuple[str, ...]] = [("our bot", FREE, SMALL, "limit", "")]
    for row in ROWS:
        cells = (spread([each[row.figure] for each in rounds[name]], row.digits) for name in (FREE, SMALL))
        lines.append((row.figure, *cells, row.limit(), VERDICTS[row.holds(rounds)]))
    notes = (
        f"{len(rounds[SMALL])} interleaved rounds in a cgroup; medians, in brackets the spread; {conditions}. The "
        "loopback servers run outside of it, and the model answers at once. The limits are for the small machine.",
    )
    kept = all(row.holds(rounds) is not False for row in ROWS)
    return Section("small machine", tuple(lines), notes, kept, {"rounds": rounds})


if __name__ == "__main__":
    sys.exit(main())
