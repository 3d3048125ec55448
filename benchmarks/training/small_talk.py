"""Trains the small-talk classifier: `python -m benchmarks.training.small_talk --data benchmarks/data/tool-routing`.

A logistic regression over hashed words and pairs of words, and a network over the encoder's vectors. Both classes have
several sources, because a model of one source's small talk mistakes the requests of another for it. Glosses are
training data, too, because they read differently from English. Nothing in `dev` is read.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.encoder_sources import LEXICON, examples, lines, table
from benchmarks.training.small_talk_data import LABELS, UNSURE
from routing.tools.selection.encoder import StaticEncoder
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.small_talk import BUCKETS, WEIGHTS, Network, SmallTalk, hashed, small_talk
from routing.types.vectors import Floats

RIDGE, STEPS, RATE = 3e-6, 200, 0.3
"""Ridge penalty, steps and learning rate of Adam; each step uses all rows."""
OURS = 2.0
"""Weight of our own lines compared with CLINC150 and HWU64: they are few and diverse."""
MAX_OF_A_TOOL = 10
UNITS, BATCHES, BATCH, NETWORK_RATE, NETWORK_RIDGE = 64, 1_500, 512, 5e-3, 1e-6
"""Hidden units of the network, batches and their size, Adam's learning rate, and the ridge penalty."""
SPREAD = 0.3
"""Standard deviation of the network's initial weights."""
FOLDS = 3
"""Folds of the cross-validation."""
POLITE = frozenset(
    {"do you know a joke", "who are you", "thank you very much", "good night", "how old are you", "never mind"}
)
"""The rows of `sentences` that are small talk."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance, whether it is small talk, and its weight."""

    text: str
    small_talk: bool
    weight: float = 1.0


def sources(data: Path) -> list[Utterance]:
    """Small talk and requests to assistants, requests to functions, our own small talk in many languages, and the
    glosses of all."""
    rows = lines(data / "train" / "utterances.jsonl")
    found = [Utterance(str(row["query"]), row["label"] in LABELS) for row in rows if row["label"] not in UNSURE]
    found += [Utterance(str(row["query"]), False) for row in lines(LEXICON / "functions.jsonl")]
    found += [Utterance(text, False) for _, requests in table("requests") for text in requests.split("|")]
    for tool in examples(data / "metatool.examples.json"):
        found += [Utterance(text, False) for text, _ in tool[:MAX_OF_A_TOOL]]
    for english, *others in table("sentences")[1:]:
        found += [Utterance(text, english in POLITE) for cell in (english, *others) for text in cell.split("|")]
    found += [Utterance(text, True, OURS) for text in (*small_talk(), *our_messages())]
    glossary = Glossary.load()
    glosses = [replace(each, text=glossary.gloss(each.text)) for each in found]
    return [*found, *(gloss for each, gloss in zip(found, glosses, strict=True) if each.text != gloss.text)]


def our_messages() -> Iterator[str]:
    """Messages that need no tool, written for training."""
    for path in sorted((LEXICON / "small_talk").glob("*.txt")):
        yield from path.read_text("utf-8").splitlines()


def in_folds(data: Path, texts: Sequence[str]) -> Iterator[tuple[SmallTalk, list[str]]]:
    """The texts in folds, each with a classifier that was not trained on them."""
    utterances = sources(data)
    for fold in range(FOLDS):
        theirs = list(texts[fold::FOLDS])
        unknown = frozenset(theirs)
        yield learn_with_network([each for each in utterances if each.text not in unknown]), theirs


def learn_with_network(utterances: Sequence[Utterance]) -> SmallTalk:
    """The classifier of words with the network."""
    return replace(learn(utterances), network=learn_network(utterances))


def learn(utterances: Sequence[Utterance]) -> SmallTalk:
    """Maximum likelihood with a ridge penalty; both classes count the same."""
    places = [hashed(each.text) for each in utterances]
    wanted, counts = _classes(utterances)
    weights, constant = _descend(places, wanted, counts)
    unit = max(float(np.abs(weights).max()), 1e-9) / 127
    return SmallTalk(np.round(weights / unit).astype(np.int8), unit, constant)


def learn_network(utterances: Sequence[Utterance], seed: int = 0) -> Network:
    """A network over the vectors of the shipped encoder, by Adam from random batches; both classes count the same."""
    vectors = StaticEncoder.load().encode([each.text for each in utterances])
    wanted, counts = _classes(utterances)
    rng, cumulative = np.random.default_rng(seed), np.cumsum(counts)
    initial = (
        rng.normal(0, SPREAD, (vectors.shape[1], UNITS)),
        np.zeros(UNITS),
        rng.normal(0, 1 / np.sqrt(UNITS), UNITS),
        np.zeros(1),
    )
    parts: list[Floats] = [each.astype(np.float32) for each in initial]
    means, squares = ([np.zeros_like(each) for each in parts] for _ in range(2))
    for step in range(1, BATCHES + 1):
        rows = cumulative.searchsorted(rng.random(BATCH) * cumulative[-1])
        gradients = _gradients(parts, vectors[rows], wanted[rows])
        rate = NETWORK_RATE * (1 - step / BATCHES) + 1e-5
        for part, gradient, mean, square in zip(parts, gradients, means, squares, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            part -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    hidden, bias, output, constant = parts
    return Network(hidden, bias, output, float(constant[0]))


def _gradients(parts: Sequence[Floats], vectors: Floats, wanted: Doubles) -> list[Floats]:
    """The gradient of the mean loss by each part of the network: hidden weights, bias, output weights, constant."""
    hidden, bias, output, constant = parts
    active = np.maximum(vectors @ hidden + bias, 0)
    odds = active @ output + constant
    wrong = ((1 / (1 + np.exp(-odds)) - wanted) / len(wanted)).astype(np.float32)
    back = np.outer(wrong, output) * (active > 0)
    gradients = vectors.T @ back, back.sum(0), active.T @ wrong, np.array([wrong.sum()])
    return [gradient + NETWORK_RIDGE * part for gradient, part in zip(gradients, parts, strict=True)]


def _classes(utterances: Sequence[Utterance]) -> tuple[Doubles, Doubles]:
    """1 for each row that is small talk, and the weights of the rows, whose sum is 1; both classes count the same."""
    wanted = np.array([each.small_talk for each in utterances], float)
    counts = np.array([each.weight for each in utterances])
    counts[wanted > 0] *= (wanted == 0).sum() / max(1.0, wanted.sum())
    return wanted, counts / counts.sum()


def _descend(places: Sequence[NDArray[np.int64]], wanted: Doubles, counts: Doubles) -> tuple[Doubles, float]:
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
    learn_with_network(utterances).save(given.out)
    count = sum(each.small_talk for each in utterances)
    print(json.dumps({"rows": len(utterances), "small talk": count, "written": str(given.out)}))


if __name__ == "__main__":
    main()
