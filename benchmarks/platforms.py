"""Our bot on Telegram alone, and with Discord: time to the first answer, and memory."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bots.contestants import OURS, Contestant, prepare_workspace
from benchmarks.bots.measure import GREETING, Figures, started_session
from benchmarks.bots.servers import TIMEOUT_SECONDS, Servers, servers
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, print_progress, spread
from tests.servers.discord import DiscordServer

ROUNDS, QUICK = 3, 1
ALONE, BOTH = "Telegram alone", "both"
FIRST_CHAT = 60_000
_POLLED, _READY, _MEMORY = "to first poll, s", "to Discord's READY, s", "RSS when ready, MB"
_STARTS = ("very first start", "start")

Rounds = Mapping[str, Sequence[Figures]]
"""The figures of every round: of the bot on Telegram alone, and on both."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and its maximum on both platforms: absolute, or `ratio` times that of Telegram alone."""

    figure: str
    most: float | None = None
    ratio: float | None = None
    digits: int = 2

    def limit(self) -> str:
        """The limit in words."""
        return f"≤ {self.most:g}" if self.most is not None else f"≤ {self.ratio:g}×"

    def holds(self, rounds: Rounds) -> bool:
        """Whether the limits are kept."""
        value = statistics.median(each[self.figure] for each in rounds[BOTH])
        return (self.most is None or value <= self.most) and (self.ratio is None or ratio(rounds, self) <= self.ratio)


ROWS = (
    *(Row(f"{start} {figure}", most=1.5) for start in _STARTS for figure in (_POLLED, _READY)),
    Row(_MEMORY, ratio=1.2, digits=0),
)
"""The limits are the project's promises."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.platforms", __doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS, help="times that each is measured (%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.rounds))


def run(rounds: int) -> Section:
    """Both in every round, one after the other, with the same servers."""
    before = load()
    with tempfile.TemporaryDirectory() as folder, servers() as loopback:
        found = asyncio.run(_measure(loopback, Path(folder), rounds))
    return report(found, before)


async def _measure(servers: Servers, folder: Path, rounds: int) -> Rounds:
    """Discord is served from here, while the bots are waited for in a thread."""
    found: dict[str, list[Figures]] = {ALONE: [], BOTH: []}
    chats, loop = itertools.count(FIRST_CHAT), asyncio.get_running_loop()
    async with DiscordServer() as dc:
        variables = {"DISCORD_BOT_TOKEN": dc.token, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        bots = {ALONE: OURS, BOTH: replace(OURS, variables=tuple(variables.items()))}
        for number, (name, bot) in itertools.product(range(rounds), bots.items()):
            print_progress(f"platforms: {name}, round {number + 1} of {rounds}")
            prepare_workspace(folder / "workspace", servers)
            figures: Figures = {}
            for start in _STARTS:
                ready = asyncio.run_coroutine_threadsafe(_ready_time(dc), loop) if bot.variables else None
                figures |= await asyncio.to_thread(_started, start, bot, servers, folder / "workspace", chats, ready)
            found[name].append(figures)
        if dc.violations:
            raise RuntimeError(f"the Discord server was asked something illegal: {dc.violations}")
    return found


async def _ready_time(dc: DiscordServer) -> float:
    """When the next session got READY, in monotonic seconds. Returns once a message was answered."""
    known = len(dc.sessions)
    await dc.wait_for(lambda _: len(dc.sessions) > known, TIMEOUT_SECONDS)
    ready = time.monotonic()
    greeting = dc.say(GREETING)
    await dc.reply(greeting, after=greeting, timeout=TIMEOUT_SECONDS)
    return ready


def _started(
    start: str, bot: Contestant, servers: Servers, workspace: Path, chats: Iterator[int], ready: Future[float] | None
) -> Figures:
    """One start, up to the answer to a message that waited; `ready` is the result of `_ready_time`."""
    with started_session(bot, servers, workspace, chats) as session:
        figures = {f"{start} {_POLLED}": session.figures["start to first poll, s"]}
        if ready is not None:
            figures[f"{start} {_READY}"] = ready.result(2 * TIMEOUT_SECONDS) - session.process.spawned
        return figures | {_MEMORY: session.process.rss_mb()}


def report(rounds: Rounds, conditions: str) -> Section:
    """The table and its verdicts."""
    lines: list[tuple[str, ...]] = [("our bot", ALONE, BOTH, "both/alone", "limit", "")]
    for row in ROWS:
        cells = (_cell(rounds[name], row) for name in (ALONE, BOTH))
        times = ratio(rounds, row)
        lines.append((row.figure, *cells, f"{times:.2f}×" if times else "", row.limit(), VERDICTS[row.holds(rounds)]))
    notes = (
        f"{len(rounds[BOTH])} interleaved rounds of two starts in a new workspace, with a message waiting on Telegram; "
        f"medians, in brackets the spread; {conditions}. The loopback servers' own time, milliseconds, is not taken "
        "off. Memory is that of the process and its children once a message on each platform is answered.",
    )
    kept = all(row.holds(rounds) for row in ROWS)
    return Section("platforms", tuple(lines), notes, kept, {"rounds": rounds})


def ratio(rounds: Rounds, row: Row) -> float:
    """Both to Telegram alone: the median of the rounds' own ratios; 0 for what is on Discord only."""
    pairs = zip(rounds[BOTH], rounds[ALONE], strict=True)
    return statistics.median(
        both[row.figure] / alone[row.figure] if row.figure in alone else 0 for both, alone in pairs
    )


def _cell(rounds: Sequence[Figures], row: Row) -> str:
    values = [each[row.figure] for each in rounds if row.figure in each]
    return spread(values, row.digits) if values else ""


if __name__ == "__main__":
    sys.exit(main())
