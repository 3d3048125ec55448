"""The frozen set of `/tier auto`, and what the benchmark makes of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.auto_tier import (
    CLASSES,
    DIGEST,
    SET,
    TUNING,
    UNUSED,
    Result,
    Row,
    error,
    fairest,
    figures,
    ours,
    read,
)
from routing.types import Tier

ROWS = read()


def test_the_set_is_the_frozen_one() -> None:
    assert hashlib.sha256(SET.read_bytes()).hexdigest() == DIGEST


def test_the_set_is_large_and_varied() -> None:
    languages, halves = Counter(row.language for row in ROWS), Counter(row.half for row in ROWS)
    assert len(ROWS) >= 320
    assert {"en", "de", "fr", "es", "pt", "it", "ru", "zh", "ja", "ko", "ar", "hi", "tr", "pl"} <= set(languages)
    assert min(halves[TUNING], halves[UNUSED]) > 0.45 * len(ROWS)
    assert len({(row.text, row.previous, row.had_code) for row in ROWS}) == len(ROWS)
    assert max(len(row.accepted) for row in ROWS) <= 3
    assert Counter(len(row.accepted) for row in ROWS)[3] == 0


def test_what_must_be_right_is_in_the_set() -> None:
    accepted = {row.text: row.accepted for row in ROWS}
    assert accepted["Prove P != NP"] == accepted["证明 P ≠ NP"] == accepted["Докажи, что P не равно NP"] == ("deep",)
    assert accepted["hi"] == ("balanced",)


def test_most_of_the_half_for_tuning_is_right() -> None:
    rows = [row for row in ROWS if row.half == TUNING]
    assert sum(ours(row) in row.accepted for row in rows) >= 0.95 * len(rows)


@pytest.mark.parametrize("line", ['{"text": "x", "accepted": ["huge"]}', '{"text": "x", "accepted": []}'])
def test_a_row_of_no_tier_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "odd.jsonl").write_text(line, "utf-8")
    with pytest.raises(ValueError, match=r"odd\.jsonl"):
        read(tmp_path / "odd.jsonl")


@pytest.mark.parametrize(
    ("tier", "accepted", "errors"),
    [
        ("smart", ("smart", "deep"), (0, 0)),
        ("deep", ("balanced",), (4, 0)),
        ("deep", ("balanced", "smart"), (2, 0)),
        ("balanced", ("smart", "deep"), (0, 2)),
        ("smart", ("coding",), (0, 1)),
    ],
)
def test_too_dear_and_too_cheap(tier: Tier, accepted: tuple[Tier, ...], errors: tuple[int, int]) -> None:
    assert error(tier, accepted) == errors


def _row(text: str, *accepted: Tier) -> Row:
    return Row(text, accepted, "en", "made")


def test_classes_are_read_in_the_way_that_serves_best() -> None:
    rows = [_row("0", "balanced"), _row("1", "smart"), _row("2", "deep"), _row("3", "deep"), _row("code", "coding")]
    choose, way = fairest(lambda text: (1, True) if text == "code" else (int(text), False), rows)
    assert [choose(row) for row in rows] == ["balanced", "smart", "deep", "deep", "coding"]
    assert way == "balanced smart deep deep + coding"
    assert len(CLASSES) == 4


def test_the_figures_are_of_each_half() -> None:
    tuning = next(row for row in ROWS if row.half == TUNING and row.accepted == ("balanced",))
    unused = next(row for row in ROWS if row.half == UNUSED and row.accepted == ("balanced",))
    found = figures([tuning, unused], Result(["balanced", "deep"], [1.0, 3.0]))
    assert (found[TUNING]["accepted"], found[TUNING]["too_dear"]) == (1, 0)
    assert (found[UNUSED]["accepted"], found[UNUSED]["too_dear"], found[UNUSED]["too_cheap"]) == (0, 4, 0)
    assert found[UNUSED]["kind"][unused.kind] == 0
    assert found["milliseconds"]["p99"] == 3.0
