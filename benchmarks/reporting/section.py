"""One part of the results: a table, notes, and whether its limits are kept."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

VERDICTS = {True: "✓", False: "✗", None: ""}
STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True, slots=True)
class Section:
    """`lines` begins with the headings; `notes` stand below the table; `figures` is everything, for JSON."""

    name: str
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    kept: bool
    figures: Mapping[str, object]

    def text(self) -> str:
        """The table and its notes; Markdown."""
        return "\n".join([grid(self.lines), "", *self.notes])


def sampled(
    name: str,
    lines: Sequence[tuple[str, ...]],
    notes: tuple[str, ...],
    verdicts: Sequence[bool | None],
    samples: Mapping[Any, Sequence[Any]],
) -> Section:
    """A part whose limits are kept if no verdict is False. `samples` are the measured dataclasses by kind."""
    figures = {str(kind): [asdict(each) for each in measured] for kind, measured in samples.items()}
    return Section(name, tuple(lines), notes, False not in verdicts, {"samples": figures})


def grid(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first line holds the headings."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width for width in widths]
    padded = (
        [text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in (lines[0], rule, *lines[1:])
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed; 0.5 is close to the median."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def spread(values: Sequence[float], digits: int) -> str:
    """The median and, in brackets, minimum and maximum if they differ."""
    middle, low, high = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def load() -> str:
    """The machine's load, which affects every figure."""
    return f"load average {os.getloadavg()[0]:.1f}"


def parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """What the command line of every part takes."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    made.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    made.add_argument(
        "--json",
        type=Path,
        nargs="?",
        const=STANDARD_OUTPUT,
        metavar="FILE",
        help="write all figures to FILE; without FILE to standard output, in place of the table",
    )
    return made


def conclude(sections: Sequence[Section], target: Path | None) -> int:
    """Prints or writes the figures; returns the exit code, 1 if a limit is exceeded."""
    if target is not None:
        document = json.dumps({each.name: {"notes": each.notes, **each.figures} for each in sections}, indent=1)
        write(document, target)
    return 0 if all(each.kept for each in sections) else 1


def write(document: str, target: Path) -> None:
    """Prints the document, or writes it to a file."""
    if target == STANDARD_OUTPUT:
        print(document)
    else:
        target.write_text(document, encoding="utf-8")


def answered(options: argparse.ArgumentParser, arguments: Sequence[str] | None, run: Callable[[Any], Section]) -> int:
    """Runs one part alone: `run` gets the parsed command line. Returns the exit code of `conclude`."""
    given = options.parse_args(arguments)
    return conclude([show(run(given), given.json)], given.json)


def show(section: Section, target: Path | None) -> Section:
    """Prints a part as soon as it is finished, unless JSON goes to stdout; returns the part."""
    if target != STANDARD_OUTPUT:
        print(section.text(), end="\n\n", flush=True)
    return section


def print_progress(progress: str) -> None:
    """One progress line."""
    print(progress, file=sys.stderr, flush=True)
