"""How well `recall` finds the fact that answers a question: `python -m benchmarks.recall`.

Forty facts of one person and a question about each, in 24 languages, most of them in another language than the fact.
For words alone, the shipped encoder, and e5 beside it: the share of the questions whose fact comes first, and is among
the first three; the facts that a search shows (ten at most); the cosine that one in ten pairs of a question and the
fact of another reaches; and milliseconds of a search, once all facts have vectors. e5 needs `make embeddings`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.encoders import build
from benchmarks.reporting.section import Section, answered, load, parser, percentile
from handlers.tools.memory import MAX_FOUND
from routing.memory.recall import Memory
from routing.ports import Embedder
from routing.types.memory import Fact
from tests.fakes import FakeFacts

PAIRS = Path(__file__).resolve().parent / "data" / "recall.tsv"
FIRST = 3
HEADINGS = ("recall", "first", "first three", "shown", "unrelated, p90", "ms, p50")


def pairs() -> list[tuple[str, str]]:
    """Each fact with a question about it."""
    rows = (line.split("\t") for line in PAIRS.read_text("utf-8").splitlines())
    return [(fact, question) for fact, _, question in rows]


async def _measured(name: str, quick: bool) -> tuple[str, ...]:
    asked = pairs()[: 8 if quick else None]
    facts = FakeFacts()
    ids = [(await facts.add(1, Fact(0, fact, 0.0, "person"))).id for fact, _ in asked]
    static, e5 = (
        build(each) if name in kept else None for each, kept in (("static", ("static", "e5")), ("e5", ("e5",)))
    )
    memory = Memory(facts, static, e5)
    for embedder in filter(None, (static, e5)):
        await embedder.embed([fact for fact, _ in asked])
    await memory.search(1, asked[0][1], MAX_FOUND)
    places, shown, times = list[int](), list[int](), list[float]()
    for fact_id, (_, question) in zip(ids, asked, strict=True):
        began = time.perf_counter()
        found = [fact.id for fact in await memory.search(1, question, MAX_FOUND)]
        times.append((time.perf_counter() - began) * 1e3)
        places.append(found.index(fact_id) if fact_id in found else MAX_FOUND)
        shown.append(len(found))
    cosine = await _unrelated(e5 or static, asked)
    for embedder in filter(None, (static, e5)):
        await embedder.close()
    firsts = (sum(place < most for place in places) / len(asked) for most in (1, FIRST))
    shares = (f"{each:.3f}" for each in firsts)
    return (name, *shares, f"{np.mean(shown):.1f}", cosine, f"{percentile(times, 0.5):.1f}")


async def _unrelated(embedder: Embedder | None, asked: Sequence[tuple[str, str]]) -> str:
    """The 90th percentile of the cosines of questions with facts that don't answer them."""
    if embedder is None:
        return ""
    facts, questions = zip(*asked, strict=True)
    cosines = np.asarray(await embedder.embed(questions)) @ np.asarray(await embedder.embed(facts)).T
    return f"{np.percentile(cosines[~np.eye(len(asked), dtype=bool)], 90):.2f}"


def run(encoders: Sequence[str], quick: bool) -> Section:
    """A row for each encoder."""
    rows = [asyncio.run(_measured(each, quick)) for each in encoders]
    return Section("recall", (HEADINGS, *rows), (load().capitalize() + ".",), True, {row[0]: row[1:] for row in rows})


def main(arguments: Sequence[str] | None = None) -> int:
    """0, whatever the figures are."""
    options = parser("benchmarks.recall", __doc__)
    options.add_argument("--encoders", nargs="+", default=("off", "static", "e5"), choices=("off", "static", "e5"))
    return answered(options, arguments, lambda given: run(given.encoders, given.quick))


if __name__ == "__main__":
    sys.exit(main())
