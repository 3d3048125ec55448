"""Runs every part of the benchmark; the exit code is 1 if a limit is exceeded.

First our bot beside the floor bot; then ours alone: turns with tools, compaction, autocomplete, and Discord beside
Telegram. Each part also runs alone: `python -m benchmarks.turns`, `benchmarks.compaction`, `benchmarks.autocomplete`,
`benchmarks.platforms`. Longer measurements only run alone: memory over many turns (`benchmarks.soak`), a backlog of
thousands of messages (`benchmarks.backlog`), a million stored ones (`benchmarks.growth`), and what the memory consists
of (`benchmarks.memory`).
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import autocomplete, compaction, platforms, profile_shares, turns
from benchmarks.bots.contestants import COMPARED, CONTESTANTS
from benchmarks.bots.measure import SLOW_SECONDS, SLOW_WAVES, TURNS_A_CHAT, WARM_UP, Figures, Size, measure
from benchmarks.bots.servers import ANSWER, CHUNKS, servers
from benchmarks.reporting.plot import plot
from benchmarks.reporting.report import report
from benchmarks.reporting.section import Section, conclude, print_progress, show
from benchmarks.reporting.section import parser as common

QUICK = Size(turns=20, chats=5)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every limit is kept; 1: one is not."""
    options = _parser().parse_args(arguments)
    if options.profile:
        size = QUICK if options.quick else Size(options.turns, options.chats)
        return conclude([show(profile_shares.run(size), options.json)], options.json)
    sections = [show(section, options.json) for section in _measured(options)]
    return conclude(sections, options.json)


def _measured(options: argparse.Namespace) -> Iterator[Section]:
    """Runs the parts one after the other, each when the caller needs it."""
    quick = options.quick
    size = QUICK if quick else Size(options.turns, options.chats)
    yield beside_the_floor(size, 1 if quick else options.rounds, options.plot)
    yield turns.run(turns.QUICK if quick else turns.SAMPLES)
    yield compaction.run(compaction.SIZES, compaction.QUICK if quick else compaction.TIMES)
    yield autocomplete.run(autocomplete.QUICK if quick else autocomplete.TIMES)
    yield platforms.run(platforms.QUICK if quick else options.rounds)


def beside_the_floor(size: Size, times: int, picture: Path | None = None) -> Section:
    """Our bot and the floor bot."""
    began, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        rounds = run(size, times, Path(folder))
    if picture:
        plot(picture, rounds)
    return report(rounds, _conditions(size, times, load, time.monotonic() - began))


def run(size: Size, times: int, folder: Path) -> dict[str, list[Figures]]:
    """The compared bots in every round, one after the other, through the same two servers; the other one once."""
    rounds: dict[str, list[Figures]] = {each.name: [] for each in CONTESTANTS}
    chats = itertools.count(20_000)
    with servers() as both:
        for number in range(times):
            for each in CONTESTANTS if number == 0 else COMPARED:
                print_progress(f"round {number + 1} of {times}: {each.name}")
                rounds[each.name].append(measure(each, both, size, folder, chats))
    return rounds


def _parser() -> argparse.ArgumentParser:
    parser = common("benchmarks", __doc__)
    parser.add_argument("--turns", type=int, default=200, help="serial turns in a round (%(default)s)")
    parser.add_argument("--chats", type=int, default=20, help="chats side by side in the busy part (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times that every bot is measured (%(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the first table to FILE (.png, .svg, .pdf)")
    parser.add_argument("--profile", action="store_true", help="only print where our bot's CPU goes")
    return parser


def _conditions(size: Size, times: int, load: float, seconds: float) -> list[str]:
    """The notes needed to read the table."""
    return [
        f"{times} interleaved rounds (one of the streaming floor) in {seconds:.0f} s; medians, in brackets the spread; "
        f"a ratio is the median of the rounds' own ratios. Load average at the start {load:.1f}, Python "
        f"{platform.python_version()}, {os.cpu_count()} × {platform.machine()}, which the servers share.",
        f"A round: two starts with a message waiting, {WARM_UP} turns to warm up, {size.turns} serial turns, then "
        f"{size.turns * 2} turns with {size.chats} chats at a time, and {SLOW_WAVES * size.chats} with a model that "
        f"takes {SLOW_SECONDS:g} s.",
        f"Conversations have {TURNS_A_CHAT} turns: ours sends 2 to 8 earlier messages with a serial turn (none with a "
        "first turn), 0 to 8 with many chats. The floor stores nothing and sends none.",
        f"The model answers at once with {len(ANSWER)} characters, streamed in {CHUNKS} pieces; its own time is taken "
        "off the serial turns. CPU counts every thread and child process.",
    ]


if __name__ == "__main__":
    sys.exit(main())
