"""What of an answer is read aloud."""

from __future__ import annotations

import pytest

from handlers.replies.spoken_text import MAX_CHARACTERS, spoken_text


@pytest.mark.parametrize(
    ("markdown", "spoken"),
    [
        ("**Bold**, _soft_ and `code`.", "Bold, soft and code."),
        ("# Title\n\n- one\n- two\n1. three\n> said", "Title\none\ntwo\nthree\nsaid"),
        ("See [the map](https://example.org/a_b) or https://example.org/x?y=1 now.", "See the map or now."),
        ("![cat](cat.png)\nA cat.", "A cat."),
        ("Before\n```python\nprint(1)\n```\nafter", "Before\nafter"),
        ("~~~~\n```\n~~~\ncode\n~~~~\nafter", "after"),
        ("```\nnever closed", ""),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nDone.", "Done."),
        ("a | b | c\n--- | --- | ---\nDone.", "Done."),
        ("    indented code\nsnake_case stays", "snake_case stays"),
        ("---\n\n***\n", ""),
        ("<b>loud</b> & 3 < 4", "loud & 3 < 4"),
        ("", ""),
    ],
)
def test_what_is_spoken(markdown: str, spoken: str) -> None:
    assert spoken_text(markdown) == (spoken, False)


def test_a_long_answer_ends_with_a_sentence() -> None:
    text, cut = spoken_text("One two three. " * 1_000)
    assert cut
    assert len(text) <= MAX_CHARACTERS
    assert text.endswith("three.")
    assert spoken_text("word" * 1_000) == (("word" * 1_000)[:MAX_CHARACTERS], True)
    assert spoken_text("一二三。" * 1_000)[0].endswith("。")


@pytest.mark.parametrize("sign", ["[", "![", "<", "*", "_", "`", "> ", "- ", "|", "http://", "[a](", "# "])
def test_hostile_answers_do_not_hang(sign: str) -> None:
    spoken_text(sign * 20_000)
