"""Splitting plain text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rendering.plain import clean, is_blank, plain_pieces, utf16_length
from tests.bot.rendering.checker import is_seam, squeezed, units


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("é", 1), ("日本", 2), ("😀", 2), ("🇩🇪", 4), ("\ud83d", 1)]
)
def test_utf16_length(text: str, length: int) -> None:
    assert utf16_length(text) == length


def test_markup_is_left_as_it_is() -> None:
    assert plain_pieces("**a** <b>\r\n`c`\td\x00", 100) == ("**a** <b>\n`c`    d",)


def test_breaks_prefer_paragraphs_lines_sentences_and_words() -> None:
    assert plain_pieces("aaa bbb\n\nccc ddd", 10) == ("aaa bbb", "ccc ddd")
    assert plain_pieces("aaa bbb\nccc ddd", 10) == ("aaa bbb", "ccc ddd")
    assert plain_pieces("Aaa. Bbb ccc", 10) == ("Aaa.", "Bbb ccc")
    assert plain_pieces("aaa bbb ccc ddd", 8) == ("aaa bbb", "ccc ddd")
    assert plain_pieces("😀" * 7, 5) == ("😀😀", "😀😀", "😀😀", "😀")


def test_nothing_visible_and_no_room() -> None:
    assert plain_pieces(" \n\u200b", 10) == ()
    with pytest.raises(ValueError, match="room"):
        plain_pieces("x", 1)


@given(st.text(alphabet=st.sampled_from("ab. \n\t。，日é\u0301😀👍🏽\u200d🇩🇪ש\ud83d\x00")), st.integers(8, 60))
def test_the_whole_text_arrives_and_fits(text: str, limit: int) -> None:
    parts = plain_pieces(text, limit)
    for part in parts:
        assert 0 < len(units(part)) <= limit
        assert not is_blank(part)
    # A joiner that would be a message by itself is none; those inside characters stay, as the next story shows.
    assert squeezed("".join(parts)).replace("\u200d", "") == squeezed(clean(text)).replace("\u200d", "")


@given(st.lists(st.sampled_from(["👨‍👩‍👧", "🇩🇪", "👍🏽", "e\u0301", "x", "日"]), max_size=60), st.integers(8, 40))
def test_characters_stay_whole(characters: list[str], limit: int) -> None:
    parts = plain_pieces("".join(characters), limit)
    assert "".join(parts) == "".join(characters)
    assert all(is_seam(before, after) for before, after in pairwise(parts))
