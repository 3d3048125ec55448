"""The cost of a turn with three tool calls compared with a plain turn, interleaved in one run."""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.bots.contestants import Process
from benchmarks.bots.measure import WARM_UP, Session, alone
from benchmarks.bots.servers import ANSWER, CHUNKS, Call
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress, sampled

SAMPLES, QUICK = 60, 5
LIMIT = 3.0
"""Maximum ratio of CPU time to that of a plain turn."""
HEADINGS = ("our turn", "model calls", "CPU p50, ms", "CPU p95, ms", "to the answer p50, ms", "× plain", "limit", "")
EARLIER_TURNS = 2
FIRST_CHAT = 30_000
_QUIET_SECONDS = 0.01
_QUIET_CPU_SECONDS = 0.00005
_TIMES_LOOKED = 200

_CLOCK: Call = ("get_datetime", {})
_SUM: Call = ("calculate", {"expression": "17 * 23"})
_FILES: Call = ("list_files", {})
CALLS = (_CLOCK, _SUM, _FILES)
"""Tools that cost almost nothing. Each is called once, because a second equal call would not be run."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The calls that the model asks for in each round, before it answers."""

    name: str
    rounds: tuple[tuple[Call, ...], ...] = ()

    @property
    def model_calls(self) -> int:
        """One call per round, and one for the answer."""
        return len(self.rounds) + 1


PLAIN = Kind("plain")
ONE_ROUND = Kind("three tool calls in one round", (CALLS,))
THREE_ROUNDS = Kind("three rounds of one tool call", tuple((call,) for call in CALLS))
KINDS = (PLAIN, ONE_ROUND, THREE_ROUNDS)


@dataclass(frozen=True, slots=True)
class Sample:
    """One turn, in milliseconds: CPU of the bot's process without its children, and time to the answer."""

    cpu: float
    wall: float


Samples = dict[str, list[Sample]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if the limits are kept, else 1."""
    options = parser("benchmarks.turns", __doc__)
    options.add_argument("--samples", type=int, default=SAMPLES, help="turns of each kind (%(default)s)")
    return answered(options, arguments, lambda given: run(QUICK if given.quick else given.samples))


def run(samples: int) -> Section:
    """Start the servers and the bot, measure, and stop them."""
    before = load()
    with alone(FIRST_CHAT) as session:
        for user in itertools.islice(session.chats, WARM_UP):
            session.turn(user)
        found = measure(session, samples)
    return report(found, f"{before} at the start, {load().split()[-1]} at the end")


def measure(session: Session, samples: int) -> Samples:
    """Run turns of each kind, alternating between the kinds."""
    found: Samples = {kind.name: [] for kind in KINDS}
    for number in range(samples):
        if number % 20 == 0:
            print_progress(f"turns with tools: {number} of {samples}")
        for kind in _turned(KINDS, number):
            found[kind.name].append(_sample(session, kind))
    return found


def _turned(kinds: Sequence[Kind], by: int) -> Iterator[Kind]:
    """Rotates the kinds, so that each comes first equally often."""
    return (kinds[(by + at) % len(kinds)] for at in range(len(kinds)))


def _sample(session: Session, kind: Kind) -> Sample:
    """Measures the third turn of a new conversation, after two plain ones. Raises RuntimeError if the number of model
    calls is wrong."""
    user = next(session.chats)
    for _ in range(EARLIER_TURNS):
        session.turn(user)
    for calls in kind.rounds:
        session.servers.model.will_call(calls)
    asked, before = session.servers.model.asked(), _settled(session.process)
    wall = session.turn(user)
    cpu = _settled(session.process) - before
    asked = session.servers.model.asked() - asked
    if asked != kind.model_calls:
        raise RuntimeError(f"{kind.name}: the model was asked {asked} times, not {kind.model_calls}")
    return Sample(cpu * 1000, wall * 1000)


def _settled(process: Process) -> float:
    """The bot's CPU seconds once it is idle; it still writes after sending the answer."""
    now = process.own_cpu_seconds()
    for _ in range(_TIMES_LOOKED):
        time.sleep(_QUIET_SECONDS)
        before, now = now, process.own_cpu_seconds()
        if now - before < _QUIET_CPU_SECONDS:
            break
    return now


def ratio(found: Samples, kind: Kind) -> float:
    """Median CPU of this kind of turn divided by that of a plain turn."""
    middle = {name: statistics.median(sample.cpu for sample in samples) for name, samples in found.items()}
    return middle[kind.name] / middle[PLAIN.name]


def report(found: Samples, conditions: str) -> Section:
    """The table and its verdicts."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    verdicts: list[bool | None] = []
    for kind in KINDS:
        cpu = [sample.cpu for sample in found[kind.name]]
        wall = [sample.wall for sample in found[kind.name]]
        times = ratio(found, kind)
        verdict = times <= LIMIT if kind.rounds else None
        verdicts.append(verdict)
        measured = (statistics.median(cpu), percentile(cpu, 0.95), statistics.median(wall))
        limit = f"≤ {LIMIT:g}×" if kind.rounds else ""
        figures = (f"{value:.1f}" for value in measured)
        lines.append((kind.name, str(kind.model_calls), *figures, f"{times:.2f}×", limit, VERDICTS[verdict]))
    notes = (
        f"{len(found[PLAIN.name])} turns of each kind, interleaved; {conditions}. CPU is that of the bot's process, "
        "every thread, without children, up to its rest after the answer.",
        f"Each is the third turn of a new conversation, behind {EARLIER_TURNS} plain ones. The tools are "
        f"{', '.join(name for name, _ in CALLS)}. The model answers at once, {len(ANSWER)} characters in {CHUNKS} "
        "pieces.",
    )
    return sampled("turns", lines, notes, verdicts, found)


if __name__ == "__main__":
    sys.exit(main())
