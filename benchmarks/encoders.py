"""Compares the settings of EMBEDDINGS: `python -m benchmarks.encoders [--encoders off static e5] [--fresh] [--mean]`.

For each: seconds to load, milliseconds for a short text, one after the other (p50, p95), resident memory of its own
process, and how well the built-in toolkits are chosen with it, as in `benchmarks.toolkits`: for the development queries
in ten languages, and for queries in ten others, which are for comparing encoders only. Base toolkits don't count.

`--fresh` reads instead 1,152 queries in eighteen languages, by language. Nothing was tuned on them."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.reporting.section import Section, answered, load, parser, percentile, print_progress
from benchmarks.toolkits import DEVELOPMENT, QUERIES, Query, queries
from handlers.tools.authoring.manifests import FOLDER, our_toolkit
from routing.ports import Embedder
from routing.tools.embedding.backend import E5_MEAN, read_backend
from routing.tools.embedding.builder import build_embedder
from routing.tools.embedding.texts import FEW_TEXTS
from routing.tools.embedding.worker import WorkerEmbedder
from routing.tools.selection.catalogue import rows
from routing.tools.selection.entries import NO_TOOL, entries
from routing.tools.selection.features import Vectors
from routing.tools.selection.fusion import Fusion
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.ranker import Ranker
from routing.types.llm import ProviderProfile
from routing.types.vectors import Floats
from routing.types.vectors import Vectors as Received

OTHER_LANGUAGES = QUERIES.with_name("tool_queries_other_languages.tsv")
FRESH = QUERIES.with_name("tool_queries_further_languages.tsv")
ENCODERS = ("off", "static", "e5")
MEAN_SHARE = 0.78
"""How much of the mean is subtracted from the vectors of e5: with that, as many tools are found for the development
queries as with the shipped encoder, and about as many shown without need."""
SPEED = 300
"""Texts that are timed."""
HEADINGS = (
    "encoder",
    "load, s",
    "ms, p50",
    "p95",
    "MB",
    "recall",
    "shown",
    "false",
    "others: recall",
    "shown",
    "false",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """`recall`: the share of the queries whose toolkits are all shown; `shown`: of the toolkits; `false`: of the
    queries that need none and get one."""

    recall: float
    shown: float
    false: float

    def cells(self) -> tuple[str, ...]:
        return f"{self.recall:.3f}", f"{self.shown:.1%}", f"{self.false:.2f}"


class _NoProvider:
    """Implements `EmbeddingModel`: only encoders on this machine are compared."""

    async def embed(self, model: str, profile: ProviderProfile, texts: Sequence[str]) -> Received:
        raise ValueError(f"{model} is not on this machine")


def _no_profile(provider: str) -> ProviderProfile:
    raise ValueError(f"{provider} is not on this machine")


def build(setting: str) -> Embedder | None:
    """The embedder for a value of EMBEDDINGS; None for `off`."""
    return build_embedder(read_backend(setting), _NoProvider(), _no_profile, time.monotonic)


class _Toolkits:
    """The built-in toolkits, to choose from with one encoder."""

    def __init__(self) -> None:
        toolkits = [our_toolkit(path.stem) for path in sorted(FOLDER.glob("*.json"))]
        described, examples = rows(toolkits)
        self.ranker = Ranker(entries(described, examples), examples[NO_TOOL], Glossary.load(), Fusion.load())
        self._home = {card.name: each.name for each in toolkits for card in each.tools}
        self._base = {each.name for each in toolkits if each.base}
        self._beyond = len(toolkits) - len(self._base)

    async def embed(self, embedder: Embedder) -> None:
        passages = self.ranker.passages
        vectors = Vectors(*[await embedder.embed(getattr(passages, each.name)) for each in fields(Vectors)])
        self.ranker.use(vectors, embedder.name)

    async def choice(self, asked: Sequence[Query], embedder: Embedder | None) -> Choice:
        found, shown, false = list[bool](), list[float](), list[bool]()
        for query in asked:
            parts = self.ranker.clauses(query.text)
            texts = self.ranker.open(parts)
            vectors: Mapping[str, Floats] = {}
            if embedder is not None and texts:
                vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
            chosen = {each.name for each in self.ranker.decide(parts, vectors).chosen} - self._base
            shown.append(len(chosen) / self._beyond)
            if query.tools:
                found.append({self._home[tool] for tool in query.tools} - self._base <= chosen)
            else:
                false.append(bool(chosen))
        return Choice(float(np.mean(found)), float(np.mean(shown)), float(np.mean(false)))


async def _measured(setting: str, limit: int | None) -> tuple[tuple[str, ...], dict[str, object]]:
    embedder = build(setting)
    toolkits, asked, others = _Toolkits(), queries(DEVELOPMENT)[:limit], queries(OTHER_LANGUAGES)[:limit]
    speed: tuple[str, ...] = ("", "", "", "")
    if embedder is not None:
        print_progress(f"{setting}: speed")
        began = time.perf_counter()
        await embedder.embed([each.text for each in queries(QUERIES)[: FEW_TEXTS + 1]])
        seconds, times = time.perf_counter() - began, list[float]()
        for query in asked[:SPEED]:
            began = time.perf_counter()
            await embedder.embed([query.text])
            times.append((time.perf_counter() - began) * 1e3)
        speed = (f"{seconds:.1f}", f"{percentile(times, 0.5):.1f}", f"{percentile(times, 0.95):.1f}", _memory(embedder))
        print_progress(f"{setting}: toolkits")
        await toolkits.embed(embedder)
    usual, other = await toolkits.choice(asked, embedder), await toolkits.choice(others, embedder)
    if embedder is not None:
        await embedder.close()
    figures: dict[str, object] = {"speed": speed, "development": asdict(usual), "other languages": asdict(other)}
    return (setting, *speed, *usual.cells(), *other.cells()), figures


async def _by_language(setting: str, step: int) -> list[Choice]:
    """For all queries, then for those of each language; only each `step`th one counts."""
    embedder, toolkits = build(setting), _Toolkits()
    if embedder is not None:
        await toolkits.embed(embedder)
    asked = queries(FRESH)
    parts = [asked, *([each for each in asked if each.language == language] for language in _languages(asked))]
    chosen = []
    for part in parts:
        print_progress(f"{setting}: {part[0].language}")
        chosen.append(await toolkits.choice(part[::step], embedder))
    if embedder is not None:
        await embedder.close()
    return chosen


def _languages(asked: Sequence[Query]) -> list[str]:
    return list(dict.fromkeys(each.language for each in asked))


def _memory(embedder: Embedder) -> str:
    """Resident megabytes of an encoder's own process."""
    if not isinstance(embedder, WorkerEmbedder):
        return ""
    status = Path(f"/proc/{embedder.pid}/status").read_text("ascii")
    kilobytes = re.search(r"VmRSS:\s+(\d+)", status)
    return f"{int(kilobytes[1]) / 1024:.0f}" if kilobytes else ""


def _mean() -> list[float]:
    """What is subtracted from the vectors of e5: a share of the mean vector of all texts of the built-in toolkits."""
    from routing.tools.embedding.e5 import E5
    from routing.tools.embedding.e5_weights import weights_file

    model, passages = E5.load(weights_file()), _Toolkits().ranker.passages
    texts = [text for each in fields(Vectors) for text in getattr(passages, each.name)]
    return [round(MEAN_SHARE * value, 5) for value in model.vectors(texts).mean(0).tolist()]


def run(encoders: Sequence[str], quick: bool) -> Section:
    """A row for each encoder."""
    measured = [asyncio.run(_measured(each, 60 if quick else None)) for each in encoders]
    note = f"One thread. MB are of the encoder's own process, if it has one. {load().capitalize()}."
    figures = {row[0]: found for row, found in measured}
    return Section("encoders", (HEADINGS, *(row for row, _ in measured)), (note,), True, figures)


def run_fresh(encoders: Sequence[str], quick: bool) -> Section:
    """A row for each language, and columns for each encoder."""
    languages = ["all", *_languages(queries(FRESH))]
    chosen = {each: asyncio.run(_by_language(each, 8 if quick else 1)) for each in encoders}
    headings = ("language", *(f"{each}: {name}" for each in encoders for name in ("recall", "shown", "false")))
    lines = [
        (language, *(cell for each in encoders for cell in chosen[each][at].cells()))
        for at, language in enumerate(languages)
    ]
    figures = {each: dict(zip(languages, map(asdict, chosen[each]), strict=True)) for each in encoders}
    return Section("encoders, further languages", (headings, *lines), (), True, figures)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("benchmarks.encoders", __doc__)
    options.add_argument("--encoders", nargs="+", default=ENCODERS, help="settings of EMBEDDINGS (%(default)s)")
    options.add_argument("--mean", action="store_true", help=f"write {E5_MEAN.name} again instead, a minute")
    options.add_argument("--fresh", action="store_true", help="the queries in further languages, by language")
    if options.parse_args(arguments).mean:
        E5_MEAN.write_text(json.dumps(_mean()) + "\n", encoding="ascii")
        return 0
    return answered(options, arguments, lambda given: (run_fresh if given.fresh else run)(given.encoders, given.quick))


if __name__ == "__main__":
    sys.exit(main())
