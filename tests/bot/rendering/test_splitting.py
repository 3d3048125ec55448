"""Long Markdown split into several Telegram messages."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bot.rendering.plain import utf16_length
from bot.rendering.telegram import pieces, preview
from tests.bot.rendering.checker import covered, is_seam, squeezed
from tests.bot.rendering.pieces import formatting, links, valid


def test_a_long_answer_breaks_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number}: " + "word " * 120 + "**end**." for number in range(40)]
    parts = valid("\n\n".join(paragraphs))
    assert len(parts) == 7
    assert all(part.text.startswith("Paragraph") and part.text.endswith("end.") for part in parts)
    assert squeezed("".join(p.text for p in parts)) == squeezed("".join(paragraphs).replace("**", ""))


def test_lines_then_sentences_then_words() -> None:
    assert all(part.text.endswith(" line") for part in valid("one more line\n" * 500, 300))
    assert all(part.text.endswith("here.") for part in valid("A sentence is here. " * 300, 300))
    assert {word for part in valid("word " * 3000) for word in part.text.split()} == {"word"}
    assert all(part.text.endswith("。") for part in valid("これは文です。" * 700))


def test_code_in_parts_stays_code_with_its_language_and_indentation() -> None:
    code = "\n".join(f"    if x == {number}: return '{'y' * 30}'" for number in range(300))
    parts = valid(f"Look:\n\n```python\n{code}\n```\n\nDone.")
    assert len(parts) > 3
    blocks = [(entity.get("language"), covered(part, entity)) for part in parts for entity in part.entities]
    assert {language for language, _ in blocks} == {"python"}
    assert "\n".join(block for _, block in blocks) == code


def test_a_block_that_fits_a_message_is_not_split() -> None:
    block = "\n".join("x = 1" for _ in range(400))
    parts = valid("Words. " * 300 + f"\n\n```py\n{block}\n```\n\nEnd.")
    assert [covered(part, entity) for part in parts for entity in part.entities] == [block]


def test_code_of_10000_characters_on_one_line() -> None:
    parts = valid("```js\n" + "x" * 10_000 + "\n```")
    assert [len(part.text) for part in parts] == [4096, 4096, 1808]
    assert all([entity.get("language") for entity in part.entities] == ["js"] for part in parts)


def test_fences_in_nested_lists() -> None:
    item = "- step\n  - inner\n    ```sh\n    echo {}\n    ```\n    then\n"
    parts = valid("".join(item.format(number) for number in range(120)), 1000)
    codes = [covered(part, entity) for part in parts for entity in part.entities if entity["type"] == "pre"]
    assert codes == [f"echo {number}" for number in range(120)]


def test_a_table_of_two_hundred_rows() -> None:
    rows = "\n".join(f"| {number} | name | value {'v' * 20} |" for number in range(200))
    parts = valid(f"| n | name | value |\n|---|---|---|\n{rows}")
    assert len(parts) >= 2
    assert all([entity["type"] for entity in part.entities] == ["pre"] for part in parts)
    assert [int(line.split(" ")[0]) for part in parts for line in part.text.split("\n") if line[0].isdigit()] == [
        *range(200)
    ]


def test_nine_thousand_characters_of_chinese() -> None:
    line = "".join(chr(0x4E00 + number % 5000) for number in range(9000))
    parts = valid(line)
    assert [len(part.text) for part in parts] == [4096, 4096, 808]
    assert "".join(part.text for part in parts) == line


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é", "❤️", "1️⃣", "각", "क्षि", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
@pytest.mark.parametrize("offset", range(4))
def test_grapheme_clusters_are_not_split(cluster: str, offset: int) -> None:
    text = "x" * offset + cluster * 400
    parts = valid(text, 100)
    assert "".join(part.text for part in parts) == text
    for before, after in pairwise(parts):
        assert is_seam(before.text, after.text)
        assert after.text.startswith(cluster)


def test_links_and_urls_are_not_split() -> None:
    words = "word " * 17
    parts = valid(f"{words}[a link of some words here](https://a.de/b) and {words}https://b.de/{'path_' * 10}end", 100)
    assert [links(part) for part in parts if links(part)] == [{"a link of some words here": "https://a.de/b"}]
    assert any(f"https://b.de/{'path_' * 10}end" in part.text for part in parts)


def test_over_100_entities_make_more_messages() -> None:
    parts = valid("\n".join(f"- **term {number}** is `code {number}` for people" for number in range(120)))
    assert sum(len(part.entities) for part in parts) == 240
    assert len(parts) == 3


def test_excess_formatting_is_dropped_except_links() -> None:
    parts = valid("".join(f"*{number}* " for number in range(1500)))
    assert len(parts) <= 8
    linked = valid("".join(f"[{number}](https://a.de/{number}) *i* " for number in range(300)))
    urls = [entity.get("url") for part in linked for entity in part.entities if entity["type"] == "text_link"]
    assert urls == [f"https://a.de/{number}" for number in range(300)]


def test_bold_across_a_split_is_bold_in_both() -> None:
    parts = valid("**" + "word " * 100 + "end**", 200)
    assert all(formatting(part) == [("bold", part.text)] for part in parts)


@pytest.mark.parametrize("limit", [-1, 0, 1])
def test_a_limit_without_space_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="room"):
        pieces("x", limit)
    with pytest.raises(ValueError, match="room"):
        preview("x", limit)


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("é", 1), ("日本", 2), ("😀", 2), ("🇩🇪", 4), ("\ud83d", 1)]
)
def test_utf16_length(text: str, length: int) -> None:
    assert utf16_length(text) == length
