"""Learn the weights of the fusion: `python -m benchmarks.training.fusion --data ../shared/data/tool-routing`.

One choice among all tools of a catalogue and none, for every query with one right tool and for what people say when
they want none; the same weights for every catalogue, and no catalogue, language or tool has a feature of its own. The
likelihood is concave, so Newton's steps find the one optimum from any start.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tool_routing import read_catalogue, read_examples
from benchmarks.training.chatter import chatter
from routing.selection.encoder import StaticEncoder
from routing.selection.entries import NEITHER, Entry, entries
from routing.selection.evidence import DENSE, LEXICAL, QUESTION, question
from routing.selection.fusion import WEIGHTS, Fusion, Weights
from routing.selection.glossary import Glossary
from routing.selection.selector import EncodingSelector, Selector

SETS = ("assistant", "metatool", "bfcl_live", "functionchat_ko", "sealtools")
OUT_OF_SCOPE = "oos"
"""Not learned from: whether a question near a tool's domain needs it is a matter of taste."""
MOST_RIVALS, RANDOM_RIVALS = 80, 20
"""Tools beside the right one that are learned from in a large catalogue: the likeliest and some others."""
CHATTER = 1_500
RIDGE = 3e-4
WEIGHT = {"assistant": 1.0, "metatool": 0.5, "bfcl_live": 0.5, "functionchat_ko": 1.5, "sealtools": 0.5}
"""Of a row. Ours is a bot for people; the small set in another language counts as much as a larger one."""
KNOWN_BY_HEART = 0.85
"""Chatter that is so close to a negative example teaches nothing about what is further away."""
STEPS, SMALLEST = 50, 1e-3
"""Of Newton; on standardised weights."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """The features of the tools and of the question, and the place of the right tool; None when there is none."""

    entry: Array
    asked: Array
    right: int | None
    weight: float = 1.0


def choices(data: Path, name: str, seed: int = 0, keep: str = "all") -> Iterator[Choice]:
    """What one set teaches; `keep` may be the even or the odd rows."""
    catalogue = read_catalogue(data / f"{name}.catalog.json")
    path = data / f"{name}.examples.json"
    examples = read_examples(path if path.exists() else None)
    known = entries(catalogue, examples)
    selector = Selector(known, examples.get(NEITHER, ()), Glossary.load(), _nothing_learned())
    encoding = EncodingSelector(selector, StaticEncoder.load())
    rng = random.Random(seed)
    rows = [json.loads(line) for line in (data / "dev" / f"{name}.jsonl").read_text("utf-8").splitlines()]
    for number, row in enumerate(rows):
        if keep != "all" and (number % 2 == 0) != (keep == "even"):
            continue
        right = _right(row, known)
        if right is not None:
            yield _choice(encoding, row["query"], right, WEIGHT[name], rng)
    if name == "assistant":
        for said in chatter(data / "train" / "utterances.jsonl", CHATTER, rng, without=examples.get(NEITHER, ())):
            choice = _choice(encoding, said, -1, WEIGHT[name], rng)
            if choice.asked[QUESTION.index("negatives")] <= KNOWN_BY_HEART:
                yield choice


def _right(row: dict[str, Any], known: Sequence[Entry]) -> int | None:
    """The place of the one right tool, -1 for none; None for a row that does not teach one choice."""
    gold, kind = row["gold"], row["kind"]
    if not gold:
        return -1 if kind == "none" else None
    tools = row.get("gold_tools") or gold
    places = [
        at for at, entry in enumerate(known) if entry.group in gold and (entry.name in tools or entry.name in gold)
    ]
    return places[0] if len(gold) == 1 and len(places) == 1 else None


def _choice(encoding: EncodingSelector, text: str, right: int, weight: float, rng: random.Random) -> Choice:
    selector = encoding.selector
    part = selector.parts(text)[0]
    evidence = next(selector.evidence([part], encoding.vectors(part.texts())))
    assert evidence is not None
    features, asked = evidence
    places = np.arange(len(features))
    if len(places) > MOST_RIVALS + RANDOM_RIVALS:
        likely = np.argsort(-(features[:, LEXICAL.index("coverage")] + features[:, len(LEXICAL) + DENSE.index("best")]))
        chosen = {*likely[:MOST_RIVALS].tolist(), *rng.sample(range(len(features)), RANDOM_RIVALS)}
        places = np.array(sorted(chosen | ({right} if right >= 0 else set())))
    at = int(np.searchsorted(places, right)) if right >= 0 else None
    return Choice(features[places].astype(float), asked.astype(float), at, weight)


def words_only(choice: Choice) -> Choice:
    """The same, as it looks without vectors."""
    lexical = choice.entry[:, : len(LEXICAL)].astype(np.float32)
    said = float(choice.asked[QUESTION.index("words of negatives")])
    bare = question("", lexical, None, (0.0, said), not choice.asked[QUESTION.index("no examples")])
    for name in ("words", "entries"):
        bare[QUESTION.index(name)] = choice.asked[QUESTION.index(name)]
    return Choice(lexical.astype(float), bare.astype(float), choice.right, choice.weight)


def learn(data: Sequence[Choice]) -> Weights:
    """The weights under which the right choices are likeliest, less a ridge on standardised weights."""
    spread, asked_spread = _scale([each.entry for each in data]), _scale([each.asked[None] for each in data])
    width, asked_width = len(spread), len(asked_spread)
    rows = []
    for each in data:
        none = np.concatenate((np.zeros(width), each.asked / asked_spread, [1.0]))
        tools = np.hstack((each.entry / spread, np.zeros((len(each.entry), asked_width + 1))))
        rows.append(np.vstack((tools, none)))
    ridge = np.append(np.full(width + asked_width, RIDGE), RIDGE / 100) * len(data)
    theta = np.zeros(width + asked_width + 1)
    likelihood, gradient, hessian = _slope(theta, data, rows, ridge)
    for _ in range(STEPS):
        step = np.linalg.solve(hessian, gradient)
        tried = _slope(theta + step, data, rows, ridge)
        while tried[0] < likelihood and np.abs(step).max() > SMALLEST:
            step = step / 2
            tried = _slope(theta + step, data, rows, ridge)
        theta = theta + step
        likelihood, gradient, hessian = tried
        if np.abs(step).max() <= SMALLEST:
            break
    return Weights(
        entry=(theta[:width] / spread).astype(np.float32),
        none=(theta[width:-1] / asked_spread).astype(np.float32),
        constant=float(theta[-1]),
    )


def _slope(theta: Array, data: Sequence[Choice], rows: Sequence[Array], ridge: Array) -> tuple[float, Array, Array]:
    """The logarithm of the likelihood less the ridge, how it rises, and how it bends."""
    likelihood = -float(ridge @ theta**2) / 2
    gradient, hessian = -ridge * theta, np.diag(ridge)
    for each, row in zip(data, rows, strict=True):
        scores = row @ theta
        highest = scores.max()
        share = np.exp(scores - highest)
        whole = share.sum()
        share /= whole
        right = -1 if each.right is None else each.right
        mean = share @ row
        likelihood += each.weight * float(scores[right] - highest - np.log(whole))
        gradient = gradient + each.weight * (row[right] - mean)
        hessian = hessian + each.weight * ((row * share[:, None]).T @ row - np.outer(mean, mean))
    return likelihood, gradient, hessian


def stored(weights: Weights, features: Sequence[str]) -> dict[str, Any]:
    """As `routing.selection.fusion` reads it."""
    return {
        "entry": {name: round(float(value), 4) for name, value in zip(features, weights.entry, strict=True)},
        "none": {name: round(float(value), 4) for name, value in zip(QUESTION, weights.none, strict=True)},
        "constant": round(weights.constant, 4),
    }


def _scale(parts: Sequence[Array]) -> Array:
    return np.asarray(np.concatenate(parts).std(0) + 1e-6, float)


def _nothing_learned() -> Fusion:
    def empty(width: int) -> Weights:
        return Weights(np.zeros(width, np.float32), np.zeros(len(QUESTION), np.float32), 0.0)

    return Fusion(empty(len(LEXICAL)), empty(len(LEXICAL) + len(DENSE)))


def main() -> None:
    """Learn and write both sets of weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.fusion", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--keep", choices=("all", "even", "odd"), default="all")
    given = parser.parse_args()
    data = [choice for name in given.sets for choice in choices(given.data, name, keep=given.keep)]
    found = {
        "words": stored(learn([words_only(choice) for choice in data]), LEXICAL),
        "full": stored(learn(data), (*LEXICAL, *DENSE)),
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(f"{len(data)} choices learned, {given.out} written.")


if __name__ == "__main__":
    main()
