"""Unfinished Markdown as a Telegram message."""

from __future__ import annotations

import re

import pytest

from bot.rendering.plain import utf16_length
from bot.rendering.telegram import pieces, preview
from tests.bot.rendering.checker import assert_valid
from tests.bot.rendering.pieces import formatting


@pytest.mark.parametrize(
    ("markdown", "text", "expected"),
    [
        ("some **bold te", "some bold te", [("bold", "bold te")]),
        ("some **bold text*", "some bold text", [("bold", "bold text")]),
        ("some **", "some", []),
        ("a _b *c", "a b c", [("italic", "b c")]),
        ("see [the do", "see the do", []),
        ("see [the doc](https://exa", "see the doc", []),
        ("see [the doc](https://a.de) and", "see the doc and", [("text_link", "the doc")]),
        ("![im", "im", []),
        ("run `pip inst", "run pip inst", [("code", "pip inst")]),
        ("text\n\n```py", "text", []),
        ("text\n\n```py\nx = 1\n``", "text\n\nx = 1", [("pre", "x = 1")]),
        ("```py\nx = 1\n\n# **y", "x = 1\n\n# **y", [("pre", "x = 1\n\n# **y")]),
        ("para\n-", "para", []),
        ("para\n\n#", "para", []),
        ("para\n\n2.", "para", []),
        ("||hid", "hid", [("spoiler", "hid")]),
        ("~~old **both", "old both", [("strikethrough", "old both"), ("bold", "both")]),
    ],
)
def test_preview_of_unfinished_markup(markdown: str, text: str, expected: list[tuple[str, str]]) -> None:
    piece = preview(markdown)
    assert_valid(piece, 4096)
    assert piece.text == text
    assert sorted(formatting(piece)) == sorted(expected)


def test_long_preview_shows_the_end() -> None:
    piece = preview("\n".join(f"line **{number}** of many" for number in range(3000)))
    assert_valid(piece, 4096)
    assert piece.text.startswith("…line ")
    assert piece.text.endswith("line 2999 of many")
    assert utf16_length(piece.text) > 2500


def test_preview_in_a_long_fence_stays_code() -> None:
    piece = preview("Look:\n\n```python\n" + "x = 'abc'\n" * 3000)
    assert_valid(piece, 4096)
    assert [(entity["type"], entity.get("language")) for entity in piece.entities] == [("pre", "python")]
    assert re.fullmatch(r"…(x = 'abc'\n?)+", piece.text)


def test_preview_of_every_prefix_is_valid() -> None:
    answer = (
        "# Title\n\nSome **bold _both_** and `code` with [a link](https://a.de/b_c).\n\n- one\n- [x] two\n\n"
        "```py\ndef f():\n    return '**'\n```\n\n| a | b |\n|---|---|\n| 1 | 👨‍👩‍👧 |\n\n"
        "> quote ||hidden||\n\n$$\\sum x$$ end"
    )
    for end in range(1, len(answer)):
        for limit in (4096, 60):
            piece = preview(answer[:end], limit)
            if piece.text:
                assert_valid(piece, limit)
    assert preview(answer) == pieces(answer)[0]
