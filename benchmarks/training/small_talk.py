"""Trains the small-talk classifier: `python -m benchmarks.training.small_talk --data benchmarks/data/tool-routing`.

A logistic regression over hashed words and pairs of words. Both classes have several sources, because a model of one
source's small talk mistakes the requests of another for it. Nothing in `dev` is read.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.encoder_sources import LEXICON, examples, lines, table
from benchmarks.training.small_talk_data import LABELS, UNSURE
from routing.tools.selection.small_talk import BUCKETS, WEIGHTS, SmallTalk, hashed, small_talk

RIDGE, STEPS, RATE = 3e-6, 200, 0.3
"""Ridge penalty, steps and learning rate of Adam; each step uses all rows."""
OURS = 2.0
"""Weight of our own lines compared with CLINC150 and HWU64: they are few and diverse."""
MAX_OF_A_TOOL = 10
FOLDS = 3
"""Folds of the cross-validation."""
POLITE = frozenset(
    {"do you know a joke", "who are you", "thank you very much", "good night", "how old are you", "never mind"}
)
"""The rows of `sentences` that are small talk."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance, whether it is small talk, and its weight."""

    text: str
    small_talk: bool
    weight: float = 1.0


def sources(data: Path) -> list[Utterance]:
    """Small talk and requests to assistants, requests to functions, and our own small talk in many languages."""
    rows = lines(data / "train" / "utterances.jsonl")
    found = [Utterance(str(row["query"]), row["label"] in LABELS) for row in rows if row["label"] not in UNSURE]
    found += [Utterance(str(row["query"]), False) for row in lines(LEXICON / "functions.jsonl")]
    found += [Utterance(text, False) for _, requests in table("requests") for text in requests.split("|")]
    for tool in examples(data / "metatool.examples.json"):
        found += [Utterance(text, False) for text, _ in tool[:MAX_OF_A_TOOL]]
    for english, *others in table("sentences")[1:]:
        found += [Utterance(text, english in POLITE) for cell in (english, *others) for text in cell.split("|")]
    return [*found, *(Utterance(text, True, OURS) for text in small_talk())]


def in_folds(data: Path, texts: Sequence[str]) -> Iterator[tuple[SmallTalk, list[str]]]:
    """The texts in folds, each with a classifier that was not trained on them."""
    utterances = sources(data)
    for fold in range(FOLDS):
        theirs = list(texts[fold::FOLDS])
        unknown = frozenset(theirs)
        yield learn([each for each in utterances if each.text not in unknown]), theirs


def learn(utterances: Sequence[Utterance]) -> SmallTalk:
    """Maximum likelihood with a ridge penalty; both classes count the same."""
    places = [hashed(each.text) for each in utterances]
    wanted = np.array([each.small_talk for each in utterances], float)
    counts = np.array([each.weight for each in utterances])
    counts[wanted > 0] *= (wanted == 0).sum() / max(1.0, wanted.sum())
    weights, constant = _descend(places, wanted, counts / counts.sum())
    unit = max(float(np.abs(weights).max()), 1e-9) / 127
    return SmallTalk(np.round(weights / unit).astype(np.int8), unit, constant)


def _descend(places: Sequence[NDArray[np.int64]], wanted: Floats, counts: Floats) -> tuple[Floats, float]:
    sizes = np.array([len(each) for each in places])
    every, row = np.concatenate(places), np.repeat(np.arange(len(places)), sizes)
    share = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    theta, mean, square = (np.zeros(BUCKETS + 1) for _ in range(3))
    for step in range(1, STEPS + 1):
        odds = np.bincount(row, theta[every] * share, len(places)) + theta[-1]
        wrong = counts * (1 / (1 + np.exp(-odds)) - wanted)
        slope = np.append(np.bincount(every, share * wrong[row], BUCKETS) + RIDGE * theta[:-1], wrong.sum())
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        rate = RATE * (1 - step / STEPS) + 1e-3
        theta -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return theta[:-1], float(theta[-1])


def main() -> None:
    """Train and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.small_talk", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    given = parser.parse_args()
    utterances = sources(given.data)
    found = learn(utterances)
    np.savez_compressed(given.out, weights=found.weights, unit=found.unit, constant=found.constant)
    count = sum(each.small_talk for each in utterances)
    print(json.dumps({"rows": len(utterances), "small talk": count, "written": str(given.out)}))


if __name__ == "__main__":
    main()
