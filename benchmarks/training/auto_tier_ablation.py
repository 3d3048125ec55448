"""What each part of `/tier auto` is worth on the held-out set: `python -m benchmarks.training.auto_tier_ablation`.

Trains the classifier a dozen times (about ten minutes): without rows of a kind, with fewer rows, and without the
languages that it is then measured in. The last figure is the one to trust for a language, and the wording of a person,
that the training rows don't know. `--parts` only measures the shipped weights: by tier, language and length, with
phrases or classifier alone, and with phrases that decide when the classifier is unsure.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Self

from benchmarks.auto_tier import HELD_OUT, Classify, Row, chosen_by, error, ours, parts, read
from benchmarks.reporting.section import grid
from benchmarks.training.auto_tier import train, training_set, weights
from benchmarks.training.auto_tier_rows import FRAMED, MADE, SENTENCE, WRITTEN, training_rows
from routing.policy.auto.chooser import Chooser, default_chooser
from routing.policy.auto.classifier import LinearClassifier, Prediction
from routing.policy.auto.phrases import Hits, Phrases
from routing.policy.auto.preprocessing import PreparedMessage
from routing.policy.auto.scoring import MIN_SCORE, Scores
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier

LENGTHS = ((0, 25), (25, 50), (50, 100), (100, 200), (200, 10_000))
"""Buckets of the length in characters."""
FOLDS = 5
PROBABILITIES = (0.5, 0.7, 0.9)
"""Probabilities of the classifier below which the phrases decide, as an alternative."""
HEADER = ("", "rows", "accepted", "too low", *TIERS)

Line = tuple[str, ...]


class _Unsure(LinearClassifier):
    """Leaves the choice to the phrases when it is less sure than `least`."""

    least = 0.0

    def below(self, least: float) -> Self:
        self.least = least
        return self

    def predict(self, message: PreparedMessage, hits: Hits, phrase_scores: Scores) -> Prediction:
        found = super().predict(message, hits, phrase_scores)
        if found.probabilities[found.tier] >= self.least:
            return found
        by_phrases = "coding" if phrase_scores.code >= MIN_SCORE else DEFAULT_TIER
        if by_phrases == DEFAULT_TIER and phrase_scores.smart >= MIN_SCORE:
            by_phrases = "smart"
        return Prediction({tier: float(tier == by_phrases) for tier in TIERS})


def line(name: str, rows: Sequence[Row], classify: Classify) -> Line:
    """The share accepted, the share that got a cheaper tier than any accepted one, and the share accepted per tier."""
    found = [(row, classify(row)) for row in rows]
    low = sum(tier not in row.accepted and error(tier, row.accepted)[1] > 1 for row, tier in found)
    by_tier = ([tier in row.accepted for row, tier in found if row.accepted[0] == each] for each in TIERS)
    right = sum(tier in row.accepted for row, tier in found)
    shares = (f"{sum(each) / len(each):.0%}" if each else "" for each in by_tier)
    return (name, str(len(rows)), f"{right / len(rows):.1%}", f"{low / len(rows):.1%}", *shares)


def shipped(rows: Sequence[Row]) -> Iterator[Line]:
    """The shipped weights: all rows, each part alone, and by language and length."""
    yield line("all", rows, ours)
    for name, classify in parts().items():
        yield line(name, rows, classify)
    chooser = default_chooser()
    for least_sure in PROBABILITIES:
        unsure = Chooser(chooser.phrases, _Unsure.load().below(least_sure))
        yield line(f"phrases below {least_sure}", rows, chosen_by(unsure))
    for least, most in LENGTHS:
        yield line(f"{least} characters and more", [row for row in rows if least <= len(row.text) < most], ours)
    for language in sorted({row.language for row in rows}):
        yield line(language, [row for row in rows if row.language == language], ours)


def trained(rows: Sequence[Row]) -> Iterator[Line]:
    """Weights that were trained for this."""
    phrases, given = Phrases.load(), list(training_rows())

    def classify(kept: Callable[[Row], bool], known: Phrases = phrases) -> Classify:
        learnt = train(training_set([row for row in given if kept(row)], known))
        return chosen_by(Chooser(known, LinearClassifier(*weights(*learnt))))

    yield line("all rows", rows, classify(lambda _: True))
    yield line("without phrases", rows, classify(lambda _: True, Phrases([])))
    yield line("without frames", rows, classify(lambda row: row.kind != FRAMED))
    yield line("without sayings", rows, classify(lambda row: row.kind not in {MADE, SENTENCE}))
    yield line("without the messages", rows, classify(lambda row: row.kind not in {FRAMED, WRITTEN}))
    for share in (2, 4, 8):
        yield line(f"1/{share} of the rows", rows, classify(partial(_is_in_part, share=share)))
    tiers: dict[int, Tier] = {}
    for fold in range(FOLDS):
        chosen = classify(partial(_is_in_other_fold, fold=fold))
        tiers |= {id(row): chosen(row) for row in rows if not _is_in_other_fold(row, fold)}
    yield line("without the measured language", rows, lambda row: tiers[id(row)])


def _is_in_part(row: Row, share: int) -> bool:
    return _hash(row.text) % share == 0


def _is_in_other_fold(row: Row, fold: int) -> bool:
    """Whether the row's language is in another fold."""
    return _hash(row.language) % FOLDS != fold


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("benchmarks.training.auto_tier_ablation", description=__doc__)
    parser.add_argument("--parts", action="store_true", help="only measure the shipped weights")
    rows = read(HELD_OUT)
    lines = shipped(rows) if parser.parse_args().parts else trained(rows)
    print(grid([HEADER, *lines]))


if __name__ == "__main__":
    main()
