"""The word caches stay small, however many different words people write."""

from __future__ import annotations

import tracemalloc

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
