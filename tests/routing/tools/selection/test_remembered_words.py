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


@pytest.mark.parametrize(("first", "last"), [("ก", "ฮ"), ("一", "龥"), ("a", "z")], ids=["Thai", "Chinese", "Latin"])
def test_long_texts_without_spaces_are_not_kept(first: str, last: str) -> None:
    letters = [chr(code) for code in range(ord(first), ord(last) + 1)]
    chosen = random.Random(7)
    tracemalloc.start()
    try:
        for _ in range(300):
            text = "".join(chosen.choices(letters, k=1_000))
            _hashes([*words(text), *letter_ngrams(text)])
        assert tracemalloc.get_traced_memory()[0] < 10_000_000
    finally:
        tracemalloc.stop()
