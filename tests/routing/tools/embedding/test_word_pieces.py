"""Word pieces of a small model, as XLM-R's."""

from __future__ import annotations

import time

import pytest

from routing.tools.embedding.word_pieces import WordPieces

PIECES = {"<s>": 0, "<pad>": 0, "</s>": 0, "<unk>": 0, "▁": -4, "▁a": -2, "a": -3, "b": -3, "ab": -4, "▁bab": -9}
SMALL = WordPieces(list(PIECES), list(PIECES.values()), most=12)
BEGIN, END, UNKNOWN = 0, 2, 3


def named(ids: list[int]) -> list[str]:
    return [list(PIECES)[number] for number in ids]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a", ["▁a"]),
        ("ab a", ["▁a", "b", "▁a"]),
        ("bab", ["▁bab"]),
        ("baab", ["▁", "b", "a", "ab"]),
        ("a🙂🙂b", ["▁a", "<unk>", "b"]),
        ("<s>", ["▁", "<unk>"]),
        ("\ud800", ["▁", "<unk>"]),
        ("", ["▁"]),
        ("a " * 30, ["▁a"] * 10),
    ],
)
def test_the_likeliest_pieces_are_chosen(text: str, pieces: list[str]) -> None:
    ids = SMALL.ids(text)
    assert named(ids) == ["<s>", *pieces, "</s>"]


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        (" Ein\t\n Text ", "Ein Text"),
        ("\ufb01n １２", "fin 12"),
        ("e\u0301", "é"),
        ("a\0b\x07c\u200bd\ufeffe", "abc d e"),
        ("\u200b \u2581", ""),
        ("\ufdfa" * 10_000, "صلى الله عليه وسلم" * 11),
        ("x" * 1_000_000, "x" * 192),
    ],
)
def test_texts_are_normalised_and_cut(text: str, normalised: str) -> None:
    assert SMALL.normalised(text) == normalised[: 12 * 16].strip()


def test_the_time_is_bounded() -> None:
    large = WordPieces(list(PIECES), list(PIECES.values()), most=512)
    for text in (
        "a" * 1_000_000,
        "\ufdfa" * 100_000,
        "a" + "\u0301\u0316" * 500_000,
        " " * 1_000_000,
        "\U0001f642" * 250_000,
    ):
        began = time.process_time()
        assert len(large.ids(large.normalised(text))) <= 512
        assert time.process_time() - began < 1
