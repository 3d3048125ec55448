"""Cost and recall of each way to show eighty tools, and the limits of selection: `python -m benchmarks.bench_tools`.

The tools and prompts are those of yantrikos/tier. Without an endpoint: the rank of the right tool, whether it is shown,
and tokens. With one (`--endpoint URL --model NAME`, any OpenAI-compatible URL with native tool calling): which tool the
model calls. The exit code is 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import child
from benchmarks.bench_tools import charts, limits, lines, report
from benchmarks.bench_tools.calls import ModelAnswer, Score, asked, score
from benchmarks.bench_tools.endpoint import Endpoint, Unanswered
from benchmarks.bench_tools.lines import Lines
from benchmarks.bench_tools.ranking import Ranking, rankings
from benchmarks.bench_tools.recall import Row, Showing, row, showings
from benchmarks.bench_tools.strategies import WAYS, our_toolkits
from benchmarks.bench_tools.study import Study, Unreadable, read
from benchmarks.bench_tools.tokenizer import counter
from benchmarks.reporting.section import Section, load, print_progress, show
from routing.catalog.sizes import size_of
from routing.types.decisions import SIZES

DATA = Path(__file__).resolve().parents[1] / "data"
STUDY, CATALOGUES = DATA / "tier-bench", DATA / "tool-routing"
FAMILIES, TOOLS, ALL = "families of tools", "single tools", "families of tools, and ours"


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every limit is kept; 1: one is not; 2: it could not be measured."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.endpoint and not given.model:
        parser.error("--endpoint needs the name of a --model")
    try:
        with Lines(given.out) as out:
            out.write("run", {"python": platform.python_version(), "machine": platform.machine(), "load": load()})
            sections = _measured(given, out)
    except (Unreadable, Unanswered, child.Failed, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(section.kept for section in sections) else 1


def _measured(given: argparse.Namespace, out: Lines) -> list[Section]:
    study = read(given.study)
    by_form = {
        FAMILIES: rankings(study.toolkits(), study.prompts),
        TOOLS: rankings(study.tools(), study.prompts),
        ALL: rankings(study.toolkits(), study.prompts, our_toolkits(frozenset(study.families()))),
    }
    for form, ranked in by_form.items():
        for ranking in ranked:
            out.write("rank", lines.rank(form, ranking))
    sections = [show(report.ranks(by_form), None)]
    sizes = given.sizes or ((size_of(given.model).size,) if given.endpoint else SIZES)
    found = list(showings(study, by_form[FAMILIES], given.ways, sizes, counter(), by_form[ALL]))
    for showing in found:
        out.write("showing", lines.showing(showing))
    rows = [row(part, study.families()) for part in _parted(found)]
    sections.append(show(report.ways(rows), None))
    scores: list[Score] = []
    if given.endpoint:
        for size in sizes:
            theirs = [each for each in found if each.size == size]
            scores = _answers(given, study, theirs, out)
            sections.append(show(report.answers(scores, given.model, size), None))
    if given.rounds:
        sections.append(show(_limits(given, out), None))
    _plotted(given.plot, rows, by_form, scores)
    return sections


def _answers(given: argparse.Namespace, study: Study, found: Sequence[Showing], out: Lines) -> list[Score]:
    """Sends every prompt to the model. Raises Unanswered."""
    key = os.environ.get(given.key_env) if given.key_env else None
    if given.key_env and not key:
        raise Unanswered(f"{given.key_env} is not set: it should hold the endpoint's key.")
    answered: list[ModelAnswer] = []
    model = Endpoint(given.endpoint, given.model, key)
    try:
        for each in asked(model, found):
            answered.append(each)
            out.write("answer", lines.answer(given.model, each))
            if len(answered) % len(study.prompts) == 0:
                print_progress(f"{given.model}: {each.showing.way}, class {each.showing.size}")
    finally:
        model.close()
    parts = {way: [each for each in answered if each.showing.way == way] for way in given.ways}
    return [score(part, study.families()) for part in parts.values()]


def _limits(given: argparse.Namespace, out: Lines) -> Section:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "index" if limits.takes_a_cache() else None
        probes = limits.probes(given.catalogues, cache, given.rounds)
    for name, found in probes.items():
        for each in found:
            out.write("probe", {"probe": name, **each})
    return limits.report(probes)


def _parted(found: Sequence[Showing]) -> list[list[Showing]]:
    """By class and way, in order."""
    parts: dict[tuple[str, str], list[Showing]] = {}
    for each in found:
        parts.setdefault((each.size, each.way), []).append(each)
    return list(parts.values())


def _plotted(
    path: Path | None, rows: Sequence[Row], by_form: dict[str, list[Ranking]], scores: Sequence[Score]
) -> None:
    if path is not None:
        charts.plot(path, rows, by_form, scores)
        print_progress(f"{path} drawn.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_tools", description=__doc__)
    parser.add_argument("--study", type=Path, default=STUDY, metavar="DIR", help="tools and prompts (%(default)s)")
    parser.add_argument(
        "--catalogues", type=Path, default=CATALOGUES, metavar="DIR", help="for the limits (%(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=limits.ROUNDS, help="of the limits; 0 leaves them out (%(default)s)"
    )
    parser.add_argument("--sizes", nargs="+", choices=SIZES, help="size classes (all; with a model, its own)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--endpoint", metavar="URL", help="a model's address in OpenAI's form")
    parser.add_argument("--model", default="", help="its name there")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable that holds its key")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write every figure as JSON lines")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures (.png, .svg, .pdf)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
