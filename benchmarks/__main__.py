"""`python -m benchmarks`: measure, print the table; the exit code is 1 when a limit is not kept."""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.contestants import CONTESTANTS
from benchmarks.measure import TURNS_A_CHAT, WARM_UP, Figures, Size, measure
from benchmarks.plot import plot
from benchmarks.report import kept, save, table
from benchmarks.servers import ANSWER, CHUNKS, servers

QUICK = Size(turns=20, chats=5)


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every limit is kept; 1: one is not."""
    options = _parser().parse_args(arguments)
    size = QUICK if options.quick else Size(options.turns, options.chats)
    times = 1 if options.quick else options.rounds
    began, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        rounds = run(size, times, Path(folder))
    conditions = _conditions(size, times, load, time.monotonic() - began)
    print("\n".join([table(rounds), "", *conditions]))
    if options.json:
        save(options.json, rounds, conditions)
    if options.plot:
        plot(options.plot, rounds)
    return 0 if kept(rounds) else 1


def run(size: Size, times: int, folder: Path) -> dict[str, list[Figures]]:
    """Every contestant in every round, one after the other, through the same two servers."""
    rounds: dict[str, list[Figures]] = {each.name: [] for each in CONTESTANTS}
    chats = itertools.count(20_000)
    with servers() as both:
        for number in range(times):
            for each in CONTESTANTS:
                print(f"round {number + 1} of {times}: {each.name}", file=sys.stderr, flush=True)
                rounds[each.name].append(measure(each, both, size, folder, chats))
    return rounds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="serial turns in a round (%(default)s)")
    parser.add_argument("--chats", type=int, default=20, help="chats side by side in the busy part (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times that every bot is measured (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them to FILE (.png, .svg, .pdf)")
    parser.add_argument("--quick", action="store_true", help="one small round, to see that it works")
    return parser


def _conditions(size: Size, times: int, load: float, seconds: float) -> list[str]:
    """What must be known to read the table."""
    return [
        f"{times} interleaved rounds in {seconds:.0f} s; medians, in brackets the spread; a ratio is the median of the "
        f"rounds' own ratios. Load average at the start {load:.1f}, Python {platform.python_version()}, "
        f"{os.cpu_count()} × {platform.machine()}, which the servers share.",
        f"A round: two starts with a message waiting, {WARM_UP} turns to warm up, {size.turns} serial turns, then "
        f"{size.turns * 2} turns with {size.chats} chats at a time.",
        f"Conversations have {TURNS_A_CHAT} turns: ours sends 2 to 8 earlier messages with a serial turn (none with a "
        "first turn), 0 to 8 with many chats. The floor stores nothing and sends none.",
        f"The model answers at once with {len(ANSWER)} characters, streamed in {CHUNKS} pieces; its own time is taken "
        "off the serial turns. CPU counts every thread and child process.",
    ]


if __name__ == "__main__":
    sys.exit(main())
