"""Combines features to one number, with weights stored by name."""

from __future__ import annotations

import json
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from routing.tools.selection.features import DENSE, LEXICAL, QUESTION
from routing.tools.selection.fusion import WEIGHTS, Fusion, Weights


def stored() -> dict[str, Any]:
    """Every weight is different."""

    def part(features: tuple[str, ...]) -> dict[str, Any]:
        return {
            "entry": {name: float(at) for at, name in enumerate(features)},
            "with examples": {name: 100.0 + at for at, name in enumerate(features)},
            "none": {name: -float(at) for at, name in enumerate(QUESTION)},
            "constant": len(features),
        }

    return {"words": part(LEXICAL), "full": part((*LEXICAL, *DENSE))}


def load(folder: Path, weights: object) -> Fusion:
    path = folder / "fusion.json"
    path.write_text(json.dumps(weights), "utf-8")
    return Fusion.load(path)


def test_log_odds_are_relative_to_no_tool() -> None:
    none = np.where([name == "negatives" for name in QUESTION], 4.0, 0.0).astype(np.float32)
    weights = Weights(np.array([2.0, 0.5], np.float32), none, log(2))
    said = np.where([name == "negatives" for name in QUESTION], 0.25, 0.0).astype(np.float32)
    odds = weights.odds(np.array([[1, 0], [0, 2], [0, 0]], np.float32), said)
    assert odds.tolist() == pytest.approx([2 - 1 - log(2), 1 - 1 - log(2), -1 - log(2)])


def asked(no_examples: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array([no_examples if name == "no examples" else 0.0 for name in QUESTION], np.float32)


@pytest.mark.parametrize(("no_examples", "odds"), [(1, 1), (0, 1 + 10)])
def test_a_feature_counts_differently_with_examples(no_examples: float, odds: float) -> None:
    one = np.ones(1, np.float32)
    weights = Weights(one, np.zeros(len(QUESTION), np.float32), 0.0, with_examples=10 * one)
    assert weights.odds(np.ones((2, 1), np.float32), asked(no_examples)).tolist() == pytest.approx([odds] * 2)


def test_each_weight_goes_to_its_feature_in_any_stored_order(tmp_path: Path) -> None:
    weights = stored()
    for part in ("words", "full"):
        for side in ("entry", "with examples"):
            weights[part][side] = dict(reversed(weights[part][side].items()))
    made = load(tmp_path, weights)
    assert made.words.entry.tolist() == list(range(len(LEXICAL)))
    assert made.full.entry.tolist() == list(range(len(LEXICAL) + len(DENSE)))
    assert made.words.with_examples.tolist() == [100 + at for at in range(len(LEXICAL))]
    assert made.words.none.tolist() == [-at for at in range(len(QUESTION))]
    assert (made.words.constant, made.full.constant) == (len(LEXICAL), len(LEXICAL) + len(DENSE))


@pytest.mark.parametrize(
    ("part", "side", "name"),
    [
        *(("words", "entry", name) for name in LEXICAL[:3]),
        *(("full", side, name) for side in ("entry", "with examples") for name in (LEXICAL[0], DENSE[-1])),
        *((part, "none", name) for part in ("words", "full") for name in QUESTION[:2]),
    ],
)
def test_a_missing_weight_is_an_error_that_names_it(tmp_path: Path, part: str, side: str, name: str) -> None:
    weights = stored()
    del weights[part][side][name]
    with pytest.raises(KeyError) as caught:
        load(tmp_path, weights)
    assert caught.value.args == (name,)


@pytest.mark.parametrize("missing", [("words",), ("full",), ("full", "none"), ("words", "constant")])
def test_a_missing_part_is_an_error_that_names_it(tmp_path: Path, missing: tuple[str, ...]) -> None:
    weights = stored()
    *outer, last = missing
    holder = weights[outer[0]] if outer else weights
    del holder[last]
    with pytest.raises(KeyError) as caught:
        load(tmp_path, weights)
    assert caught.value.args == (last,)


def test_feature_names_are_unique() -> None:
    names = (*LEXICAL, *DENSE, *QUESTION)
    assert len({*names}) == len(names)


def test_the_default_weights_match_the_features() -> None:
    weights = json.loads(WEIGHTS.read_text("utf-8"))
    assert {*weights} == {"words", "full"}
    for side in ("entry", "with examples"):
        assert {*weights["words"][side]} == {*LEXICAL}
        assert {*weights["full"][side]} == {*LEXICAL, *DENSE}
    assert {*weights["words"]["none"]} == {*weights["full"]["none"]} == {*QUESTION}
    loaded = Fusion.load()
    for part in (loaded.words, loaded.full):
        assert np.isfinite([*part.entry, *part.none, part.constant]).all()
        assert part.entry.any()
