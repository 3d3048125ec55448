"""The classifier of vectors, and its shipped weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.training.auto_tier_vectors import train, write
from routing.policy.auto.classifier import Prediction
from routing.policy.auto.vector_classifier import VectorClassifier
from routing.types.tiers import TIERS, Tier

WIDTH = 384


def test_the_shipped_weights_fit_the_encoder() -> None:
    classifier = VectorClassifier.load()
    assert [len(row) for row in classifier.weights] == [WIDTH] * len(TIERS)
    predicted = classifier.predict([0.0] * WIDTH)
    assert sum(predicted.probabilities.values()) == pytest.approx(1)
    assert predicted.tier == "balanced"


def test_training_finds_what_separates_the_tiers(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    tiers = rng.integers(len(TIERS), size=400)
    means = rng.normal(size=(len(TIERS), 8))
    rows = (means[tiers] + rng.normal(size=(400, 8)) * 0.1).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.eye(len(TIERS), dtype=np.float32)[tiers]
    even = np.ones(400, np.float32)
    write(*train(rows, labels, even), "some:1", tmp_path / "one.json")
    write(*train(rows, labels, even), "some:1", tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    classifier = VectorClassifier.load(tmp_path / "one.json")
    assert classifier.encoder == "some:1"
    found = [classifier.predict(row.tolist()).tier for row in rows]
    assert found == [TIERS[tier] for tier in tiers]


@pytest.mark.parametrize(
    ("words", "vector", "tier"),
    [
        ({"balanced": 0.6, "smart": 0.4}, {"balanced": 0.2, "smart": 0.8}, "smart"),
        ({"balanced": 0.94, "smart": 0.06}, {"balanced": 0.4, "smart": 0.6}, "balanced"),
    ],
)
def test_predictions_are_combined(words: dict[Tier, float], vector: dict[Tier, float], tier: Tier) -> None:
    none: dict[Tier, float] = dict.fromkeys(TIERS, 0.0)
    combined = Prediction(none | words).combined(Prediction(none | vector))
    assert combined.tier == tier
    assert sum(combined.probabilities.values()) == pytest.approx(1)


def test_weights_and_vectors_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="made for another form"):
        VectorClassifier("some:1", [[0.0] * 8] * 3, [0.0] * 3)
    with pytest.raises(ValueError, match="a vector of 5 instead of 384 numbers"):
        VectorClassifier.load().predict([0.0] * 5)
