"""Trains the fusion weights: `python -m benchmarks.training.fusion --data benchmarks/data/tool-routing`.

Every query with a right tool, and every message that needs none, is one choice among all tools of a catalogue and none.
The weights are the same for every catalogue; no feature depends on a catalogue, a language or a tool.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tool_routing import read_catalogue, read_examples
from benchmarks.toolkits import DEVELOPMENT
from benchmarks.toolkits import queries as development_queries
from benchmarks.training.choice_model import Choice, Singles, learn
from benchmarks.training.encoder_sources import lines
from benchmarks.training.small_talk import in_folds
from benchmarks.training.small_talk_data import UNSURE, small_talk_messages
from handlers.tools.authoring.manifests import FOLDER, our_toolkit
from routing.tools.selection.catalogue import rows
from routing.tools.selection.encoder import StaticEncoder
from routing.tools.selection.entries import NO_TOOL, Entry, entries
from routing.tools.selection.features import DENSE, LEXICAL, QUESTION, question
from routing.tools.selection.fusion import NO_EXAMPLES, WEIGHTS, Fusion, Weights
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.ranker import EncodingRanker, Ranker
from routing.types.vectors import Floats

TOOLKITS = "toolkits"
"""The built-in toolkits with the development queries of `benchmarks.toolkits`."""
SETS = ("assistant", "metatool", "bfcl_live", "functionchat_ko", "sealtools", TOOLKITS)
REQUESTS = Path(__file__).with_name("requests.tsv")
"""Our own messages for the assistant's toolkits: language, toolkits or -, text. None of them is measured."""
WITHOUT_NONE = frozenset({"metatool"})
"""Sets whose queries without a tool are skipped: general knowledge questions, in a catalogue with web search."""
SHARE_ALIKE = frozenset({"xsid", "compound"})
"""Sources under CC BY-SA, and of rows that may join them: only measured, because the weights are under MIT."""
MAX_RIVALS, RANDOM_RIVALS = 80, 20
"""Wrong tools per choice in a large catalogue: the likeliest ones, and random ones."""
SMALL_TALK = 4_000
WITH_EXAMPLES = "with examples"
"""The weights that are added where there are examples."""
WEIGHT = {"assistant": 1.0, "metatool": 0.5, "bfcl_live": 0.5, "functionchat_ko": 1.5, "sealtools": 0.1, TOOLKITS: 0.7}
"""Weight of a row. The bot is for people; the small set in another language counts as much as a larger one."""
WORDS_SHARE = 1 / 7
"""Share of the built-in toolkits' weight for the model of words alone. With all of it, this model learns that most
messages need a tool, even in languages without a glossary."""
SMALL_TALK_WEIGHT = 0.3
"""Weight of a row that needs no tool where there are many."""
KNOWN_BY_HEART = 0.85
"""Small talk more similar than this to a negative example is skipped: it teaches nothing about other messages."""


def choices(data: Path, name: str, seed: int = 0, keep: str = "all") -> Iterator[Choice]:
    """The choices of one set; `keep` may select the even or the odd rows."""
    known, negatives, queries = entries_and_queries(data, name)
    selector = Ranker(known, negatives, Glossary.load(), _nothing_learned())
    encoding = EncodingRanker(selector, StaticEncoder.load())
    rng = random.Random(seed)
    for number, row in enumerate(queries):
        if keep != "all" and (number % 2 == 0) != (keep == "even"):
            continue
        if row.get("source") in SHARE_ALIKE or (not row["gold"] and name in WITHOUT_NONE):
            continue
        yield from _taught(encoding, str(row["query"]), _right(row, known), WEIGHT[name], rng)
    if name == "assistant":
        yield from _idle(data, known, negatives, encoding, rng)
        for _, toolkits, text in requests():
            right = _right({"gold": [] if toolkits == "-" else toolkits.split(), "kind": "none"}, known)
            yield from _taught(encoding, text, right, WEIGHT[name] if right else SMALL_TALK_WEIGHT, rng)


def requests() -> Iterator[list[str]]:
    """The rows of REQUESTS."""
    return (line.split("\t") for line in REQUESTS.read_text("utf-8").splitlines())


def entries_and_queries(data: Path, name: str) -> tuple[tuple[Entry, ...], Sequence[str], Sequence[Mapping[str, Any]]]:
    """The tools, the messages that need none, and the queries."""
    if name == TOOLKITS:
        built_in = [our_toolkit(path.stem) for path in sorted(FOLDER.glob("*.json"))]
        catalogue, examples = rows(built_in)
        home = {card.name: toolkit.name for toolkit in built_in for card in toolkit.tools}
        queries: list[dict[str, Any]] = [
            {"query": each.text, "gold": sorted({home[tool] for tool in each.tools}), "kind": "none"}
            for each in development_queries(DEVELOPMENT)
        ]
    else:
        path = data / f"{name}.examples.json"
        catalogue = read_catalogue(data / f"{name}.catalog.json")
        examples = read_examples(path if path.exists() else None)
        queries = lines(data / "dev" / f"{name}.jsonl")
    return entries(catalogue, examples), examples.get(NO_TOOL, ()), queries


def _idle(
    data: Path, known: Sequence[Entry], negatives: Sequence[str], encoding: EncodingRanker, rng: random.Random
) -> Iterator[Choice]:
    """Messages that ask for nothing, scored by detectors that were not trained on them, and CLINC150's out-of-scope
    queries."""
    utterances = data / "train" / "utterances.jsonl"
    messages = [*small_talk_messages(utterances, SMALL_TALK, rng, without=negatives)]
    for detector, theirs in in_folds(data, messages):
        scored = EncodingRanker(
            Ranker(known, negatives, Glossary.load(), _nothing_learned(), small_talk=detector), StaticEncoder.load()
        )
        for text in theirs:
            for choice in _taught(scored, text, (), SMALL_TALK_WEIGHT, rng):
                if choice.asked[QUESTION.index("negatives")] <= KNOWN_BY_HEART:
                    yield choice
    for row in lines(utterances):
        if row["label"] in UNSURE and row["query"] not in negatives:
            yield from _taught(encoding, str(row["query"]), (), WEIGHT["assistant"], rng)


def _right(row: Mapping[str, Any], known: Sequence[Entry]) -> tuple[tuple[int, ...], ...] | tuple[()] | None:
    """The indices of each right group; () if no tool is needed, None for a row to skip."""
    gold = row["gold"]
    if not gold:
        # Whether a question near a tool's domain needs it is a matter of taste, so out-of-scope rows are skipped.
        return () if row["kind"] == "none" else None
    places = tuple(tuple(at for at, entry in enumerate(known) if entry.group == name) for name in gold)
    return places if all(places) else None


def _taught(
    encoding: EncodingRanker,
    text: str,
    right: tuple[tuple[int, ...], ...] | None,
    weight: float,
    rng: random.Random,
) -> Iterator[Choice]:
    """A choice for each right group, without the tools of the other right groups."""
    if right is None:
        return
    selector = encoding.ranker
    part = selector.clauses(text)[0]
    evidence = next(selector.features([part], encoding.vectors(part.texts())))
    assert evidence is not None
    features, asked = evidence
    every = {place for group in right for place in group}
    places = _rivals(features, every, rng)
    for group in right or ((),):
        kept = [place for place in places if place in group or place not in every]
        mine = tuple(at for at, place in enumerate(kept) if place in group)
        yield Choice(features[kept], asked.astype(float), mine, weight / max(1, len(right)), part.small_talk)


def _rivals(features: Floats, right: set[int], rng: random.Random) -> list[int]:
    count = len(features)
    if count <= MAX_RIVALS + RANDOM_RIVALS:
        return list(range(count))
    likely = np.argsort(-(features[:, LEXICAL.index("coverage")] + features[:, len(LEXICAL) + DENSE.index("best")]))
    return sorted({*likely[:MAX_RIVALS].tolist(), *rng.sample(range(count), RANDOM_RIVALS), *right})


def words_only(choice: Choice) -> Choice:
    """The same choice without vectors."""
    lexical = choice.entry[:, : len(LEXICAL)]
    known = dict(zip(QUESTION, choice.asked.tolist(), strict=True))
    similarity, examples = known["words of negatives"], not known["no examples"]
    bare = question(lexical, None, (0.0, similarity), examples, choice.small_talk).astype(float)
    bare[QUESTION.index("entries")] = known["entries"]
    return replace(choice, entry=lexical, asked=bare)


def fused(data: Sequence[Choice], without: Collection[str] = ()) -> Weights:
    """Train the weights, and their additions with examples unless WITH_EXAMPLES is in `without`."""

    def crossed(choice: Choice) -> Singles:
        counted = WITH_EXAMPLES not in without and not choice.asked[NO_EXAMPLES]
        return np.hstack((choice.entry, choice.entry * np.float32(counted)))

    found = learn([replace(choice, entry=crossed(choice)) for choice in data])
    entry, with_examples = np.split(found.entry, 2)
    return replace(found, entry=entry, with_examples=with_examples)


def stored(weights: Weights, features: Sequence[str]) -> dict[str, Any]:
    """The format that `routing.tools.selection.fusion` reads."""

    def named(names: Sequence[str], values: Floats) -> dict[str, float]:
        return {name: round(float(value), 4) for name, value in zip(names, values, strict=True)}

    return {
        "entry": named(features, weights.entry),
        WITH_EXAMPLES: named(features, weights.with_examples),
        "none": named(QUESTION, weights.none),
        "constant": round(weights.constant, 4),
    }


def _nothing_learned() -> Fusion:
    def empty(width: int) -> Weights:
        return Weights(np.zeros(width, np.float32), np.zeros(len(QUESTION), np.float32), 0.0)

    return Fusion(empty(len(LEXICAL)), empty(len(LEXICAL) + len(DENSE)))


def main() -> None:
    """Train and write both sets of weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.fusion", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--keep", choices=("all", "even", "odd"), default="all")
    given = parser.parse_args()
    data = {name: [*choices(given.data, name, keep=given.keep)] for name in given.sets}
    every = [choice for part in data.values() for choice in part]
    words = [
        replace(words_only(choice), weight=choice.weight * (WORDS_SHARE if name == TOOLKITS else 1))
        for name, part in data.items()
        for choice in part
    ]
    found = {"words": stored(fused(words), LEXICAL), "full": stored(fused(every), (*LEXICAL, *DENSE))}
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(f"{len(every)} choices learned, {given.out} written.")


if __name__ == "__main__":
    main()
