"""How often the size class read from a model's name is wrong.

The names are JSON lines, `{"model": "gpt-4o-mini", "accept": ["M", "L"]}`; other keys are ignored.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reporting.section import grid
from routing.catalog.sizes import size_of
from routing.types.decisions import Size

HEADINGS = ("model", "read as", "accepted", "because")


@dataclass(frozen=True, slots=True)
class Named:
    """A model and its accepted size classes; several if its size is not published."""

    model: str
    accept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A name and the wrong size class that was read from it."""

    named: Named
    got: Size
    evidence: str


class Unreadable(Exception):
    """The file of names is missing or malformed; the message says where."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 whatever the figures are, 2 if the names can't be read."""
    options = _parser().parse_args(arguments)
    try:
        names = read(options.names)
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    wrong = measure(names)
    shown = _document(wrong) if options.json else _report(names, wrong)
    print(shown.encode("utf-8", "replace").decode())  # JSON can hold lone surrogates, which can't be printed
    return 0


def read(path: Path) -> tuple[Named, ...]:
    """The rows of a file. Raises Unreadable."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path} is not UTF-8 text.") from error
    names = tuple(_named(line, f"{path} line {number}") for number, line in enumerate(lines, 1) if line.strip())
    if not names:
        raise Unreadable(f"{path} holds no names.")
    return names


def measure(names: Sequence[Named]) -> list[Wrong]:
    """The names that are read wrongly, in the order of the file."""
    return list(_wrong(names))


def _wrong(names: Sequence[Named]) -> Iterator[Wrong]:
    for named in names:
        decision = size_of(named.model)
        if decision.size not in named.accept:
            yield Wrong(named, decision.size, f"{decision.source}: {decision.evidence}")


def _named(line: str, place: str) -> Named:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{place} is not JSON.") from error
    model, accept = (row.get("model"), row.get("accept")) if isinstance(row, dict) else (None, None)
    if not isinstance(model, str) or not model.strip():
        raise Unreadable(f'{place} has no "model".')
    if not isinstance(accept, list) or not accept or not all(isinstance(each, str) for each in accept):
        raise Unreadable(f'{place} has no "accept", a list of classes.')
    return Named(model, tuple(accept))


def _document(wrong: Sequence[Wrong]) -> str:
    rows = [{"model": each.named.model, "got": each.got, "accept": each.named.accept} for each in wrong]
    return json.dumps({"wrong": rows})


def _report(names: Sequence[Named], wrong: Sequence[Wrong]) -> str:
    summary = f"{len(wrong)} of {len(names)} names wrong ({len(wrong) / len(names):.1%})"
    if not wrong:
        return summary
    rows = [(each.named.model, each.got, " ".join(each.named.accept), each.evidence) for each in wrong]
    return f"{grid([HEADINGS, *rows])}\n\n{summary}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--names", type=Path, required=True, metavar="FILE", help="JSON lines")
    parser.add_argument("--json", action="store_true", help='print {"wrong": [...]} in place of the table')
    return parser


if __name__ == "__main__":
    sys.exit(main())
