"""The word caches stay small, however many different words people write."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from routing.tools.selection.glossary import Glossary
from routing.tools.selection.lexical import _hashes
from routing.tools.selection.words import letter_ngrams, words


def test_new_words_take_no_more_memory_once_the_tables_are_full() -> None:
    glossary = Glossary.load()

    def seen(start: int, end: int) -> int:
        for number in range(start, end):
            text = f"tomato{number}"
            glossary.language(text)
            _hashes([*words(text), *letter_ngrams(text)])
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        full = seen(0, 3_000)
        assert full < 5_000_000
        assert seen(3_000, 7_000) < full * 1.2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("first", "last", "most_bytes"),
    [("ก", "ฮ", 8_000_000), ("一", "龥", 8_000_000), ("a", "z", 2_500_000)],
    ids=["Thai", "Chinese", "Latin"],
)
def test_long_texts_without_spaces_are_not_kept(first: str, last: str, most_bytes: int) -> None:
    """Without the bound of the tokens or that of long texts it is 12 to 26 MB, for Latin 4 to 5 MB."""
    letters = [chr(code) for code in range(ord(first), ord(last) + 1)]
    chosen = random.Random(7)
    tracemalloc.start()
    try:
        for _ in range(60):
            text = "".join(chosen.choices(letters, k=1_000))
            _hashes([*words(text), *letter_ngrams(text)])
        assert tracemalloc.get_traced_memory()[0] < most_bytes
    finally:
        tracemalloc.stop()
