"""Learning the fusion: a known direction is found again, and rows that teach nothing are left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.training.fusion import Choice, choices, learn, stored, words_only
from routing.selection.evidence import DENSE, LEXICAL, QUESTION
from routing.selection.fusion import Fusion, Weights

ENTRY, NONE, CONSTANT = np.array([3.0, -1.0, 0.0, 2.0]), np.array([1.5, -2.0]), 1.0


def synthetic(count: int, seed: int = 0, rivals: int = 8) -> list[Choice]:
    """Choices made by chance, as likely as the weights above make them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        entry, asked = rng.normal(size=(rivals, len(ENTRY))), rng.normal(size=len(NONE))
        shares = np.exp(np.append(entry @ ENTRY, asked @ NONE + CONSTANT))
        right = int(rng.choice(rivals + 1, p=shares / shares.sum()))
        found.append(Choice(entry, asked, None if right == rivals else right))
    return found


def likelihood(weights: Weights, data: Sequence[Choice]) -> float:
    """The logarithm of how likely the right choices are, a choice."""
    found = 0.0
    for each in data:
        odds = np.append(weights.odds(each.entry.astype(np.float32), each.asked.astype(np.float32)), 0.0)
        found += float(odds[-1 if each.right is None else each.right] - np.logaddexp.reduce(odds))
    return found / len(data)


def flat(weights: Weights) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([*weights.entry, *weights.none, weights.constant])


def test_a_known_direction_is_found_again() -> None:
    found, known = flat(learn(synthetic(3_000))), np.array([*ENTRY, *NONE, CONSTANT])
    assert found @ known / np.linalg.norm(found) / np.linalg.norm(known) > 0.99
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(known), rel=0.2)


def test_the_right_choices_are_likelier_than_under_nothing_learned() -> None:
    learned, unseen = learn(synthetic(1_000)), synthetic(1_000, seed=1)
    zero = Weights(np.zeros(4, np.float32), np.zeros(2, np.float32), 0.0)
    known = Weights(ENTRY.astype(np.float32), NONE.astype(np.float32), CONSTANT)
    assert likelihood(learned, unseen) > likelihood(zero, unseen) + 0.5
    assert likelihood(learned, unseen) == pytest.approx(likelihood(known, unseen), abs=0.05)


def test_the_unit_of_a_feature_does_not_matter() -> None:
    data = synthetic(500)
    scale = np.array([1, 100, 1, 0.01])
    scaled = [Choice(each.entry * scale, each.asked, each.right) for each in data]
    assert learn(scaled).entry * scale == pytest.approx(learn(data).entry, abs=1e-2)


def test_a_row_counts_as_much_as_it_weighs() -> None:
    data, other = synthetic(500), [Choice(each.entry, each.asked, 0, weight=0.0) for each in synthetic(500, seed=2)]
    assert np.allclose(flat(learn([*data, *other])), flat(learn(data)), atol=0.15)
    twice = learn([Choice(each.entry, each.asked, each.right, 2.0) for each in data])
    assert np.allclose(flat(twice), flat(learn([*data, *data])), atol=0.05)


@pytest.mark.parametrize("right", [0, None])
def test_choices_that_are_all_the_same_have_an_end(right: int | None) -> None:
    data = [Choice(each.entry, each.asked, right) for each in synthetic(50)]
    assert np.isfinite(flat(learn(data))).all()


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def some(width: int) -> Weights:
        entry, none = rng.normal(size=width).astype(np.float32), rng.normal(size=len(QUESTION)).astype(np.float32)
        return Weights(entry, none, -1.5)

    made = some(len(LEXICAL)), some(len(LEXICAL) + len(DENSE))
    path = tmp_path / "fusion.json"
    path.write_text(json.dumps({"words": stored(made[0], LEXICAL), "full": stored(made[1], (*LEXICAL, *DENSE))}))
    loaded = Fusion.load(path)
    assert np.allclose(flat(loaded.words), flat(made[0]), atol=1e-4)
    assert np.allclose(flat(loaded.full), flat(made[1]), atol=1e-4)


def data(folder: Path) -> Path:
    """A set of two tools, with rows that teach and rows that do not."""
    catalogue = [
        {"name": "weather", "description": "The weather.", "tools": [{"name": "now", "description": "Now."}]},
        {"name": "song", "description": "Play a song."},
    ]
    rows = [
        {"query": "is it raining", "gold": ["weather"], "gold_tools": ["now"], "kind": "single"},
        {"query": "some jazz", "gold": ["song"], "kind": "single"},
        {"query": "rain and jazz", "gold": ["weather", "song"], "kind": "multi"},
        {"query": "how are you", "gold": [], "kind": "none"},
        {"query": "book a flight", "gold": [], "kind": "oos"},
        {"query": "of another catalogue", "gold": ["stranger"], "kind": "single"},
    ]
    (folder / "dev").mkdir()
    (folder / "metatool.catalog.json").write_text(json.dumps(catalogue))
    (folder / "dev" / "metatool.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def test_only_rows_with_one_right_tool_or_none_teach(tmp_path: Path) -> None:
    found = list(choices(data(tmp_path), "metatool"))
    assert [choice.right for choice in found] == [0, 1, None]
    assert {choice.entry.shape for choice in found} == {(2, len(LEXICAL) + len(DENSE))}
    assert found[0].entry[0, len(LEXICAL) + DENSE.index("best")] > 0


def test_halves_share_no_row(tmp_path: Path) -> None:
    folder = data(tmp_path)
    assert [choice.right for choice in choices(folder, "metatool", keep="even")] == [0]
    assert [choice.right for choice in choices(folder, "metatool", keep="odd")] == [1, None]


def test_words_alone_know_nothing_of_vectors(tmp_path: Path) -> None:
    choice = next(choices(data(tmp_path), "metatool"))
    bare = words_only(choice)
    assert np.allclose(bare.entry, choice.entry[:, : len(LEXICAL)], atol=1e-6) and bare.right == choice.right
    told = dict(zip(QUESTION, bare.asked, strict=True))
    assert told["best of all"] == told["negatives"] == told["best - negatives"] == 0
    kept = [QUESTION.index(name) for name in ("words", "entries", "coverage of all", "no examples")]
    assert np.allclose(bare.asked[kept], choice.asked[kept], atol=1e-6)
