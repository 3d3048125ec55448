"""Evidence in one number, by weights that are stored by name."""

from __future__ import annotations

import json
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from routing.selection.evidence import DENSE, LEXICAL, QUESTION
from routing.selection.fusion import WEIGHTS, Fusion, Weights


def stored() -> dict[str, Any]:
    """Every weight is another one."""

    def part(features: tuple[str, ...]) -> dict[str, Any]:
        return {
            "entry": {name: float(at) for at, name in enumerate(features)},
            "none": {name: -float(at) for at, name in enumerate(QUESTION)},
            "constant": len(features),
        }

    return {"words": part(LEXICAL), "full": part((*LEXICAL, *DENSE))}


def load(folder: Path, weights: object) -> Fusion:
    path = folder / "fusion.json"
    path.write_text(json.dumps(weights), "utf-8")
    return Fusion.load(path)


def test_odds_are_the_evidence_for_an_entry_less_that_for_none() -> None:
    weights = Weights(np.array([2.0, 0.5], np.float32), np.array([4.0], np.float32), log(2))
    odds = weights.odds(np.array([[1, 0], [0, 2], [0, 0]], np.float32), np.array([0.25], np.float32))
    assert odds.tolist() == pytest.approx([2 - 1 - log(2), 1 - 1 - log(2), -1 - log(2)])


def test_each_weight_goes_to_its_feature_in_whatever_order_it_is_stored(tmp_path: Path) -> None:
    weights = stored()
    for part in ("words", "full"):
        weights[part]["entry"] = dict(reversed(weights[part]["entry"].items()))
    made = load(tmp_path, weights)
    assert made.words.entry.tolist() == list(range(len(LEXICAL)))
    assert made.full.entry.tolist() == list(range(len(LEXICAL) + len(DENSE)))
    assert made.words.none.tolist() == [-at for at in range(len(QUESTION))]
    assert (made.words.constant, made.full.constant) == (len(LEXICAL), len(LEXICAL) + len(DENSE))


@pytest.mark.parametrize(
    ("part", "side", "name"),
    [
        *(("words", "entry", name) for name in LEXICAL[:3]),
        *(("full", "entry", name) for name in (LEXICAL[0], DENSE[-1])),
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


def test_no_feature_has_two_names() -> None:
    names = (*LEXICAL, *DENSE, *QUESTION)
    assert len({*names}) == len(names)


def test_the_shipped_weights_are_for_these_features_and_no_others() -> None:
    weights = json.loads(WEIGHTS.read_text("utf-8"))
    assert {*weights} == {"words", "full"}
    assert {*weights["words"]["entry"]} == {*LEXICAL}
    assert {*weights["full"]["entry"]} == {*LEXICAL, *DENSE}
    assert {*weights["words"]["none"]} == {*weights["full"]["none"]} == {*QUESTION}
    loaded = Fusion.load()
    for part in (loaded.words, loaded.full):
        assert np.isfinite([*part.entry, *part.none, part.constant]).all() and part.entry.any()
