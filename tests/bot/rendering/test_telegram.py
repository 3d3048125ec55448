"""Markdown as Telegram messages, case by case."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bot.rendering import telegram
from bot.rendering.plain import utf16_length
from bot.rendering.telegram import Piece, pieces, preview
from tests.bot.rendering.checker import assert_valid, covered, is_seam, squeezed


def one(markdown: str) -> Piece:
    (piece,) = pieces(markdown)
    assert_valid(piece, 4096)
    return piece


def formatting(piece: Piece) -> list[tuple[str, str]]:
    return [(entity.type, covered(piece, entity)) for entity in piece.entities]


def links(piece: Piece) -> dict[str, str | None]:
    return {covered(piece, entity): entity.url for entity in piece.entities if entity.type == "text_link"}


def valid(markdown: str, limit: int = 4096) -> tuple[Piece, ...]:
    parts = pieces(markdown, limit)
    for part in parts:
        assert_valid(part, limit)
    return parts


@pytest.mark.parametrize(
    ("markdown", "text", "expected"),
    [
        ("**b** _i_ `c` ~~s~~", "b i c s", [("bold", "b"), ("italic", "i"), ("code", "c"), ("strikethrough", "s")]),
        ("# Top\n\ntext", "Top\n\ntext", [("bold", "Top"), ("underline", "Top")]),
        ("### Low **x**", "Low x", [("bold", "Low x")]),
        ("## T `c` e", "T c e", [("bold", "T"), ("code", "c"), ("bold", "e")]),
        ("it is ||secret||.", "it is secret.", [("spoiler", "secret")]),
        ("||a `b` c||", "a b c", [("spoiler", "a b c")]),
        ("**a ||b** c||", "a b c", [("bold", "a b"), ("spoiler", "b"), ("spoiler", "c")]),
        ("if (a || b || c)", "if (a || b || c)", []),
        ("`a || b` || `c || d`", "a || b || c || d", [("code", "a || b"), ("code", "c || d")]),
        ("> q\n> > nested\n> `c`", "q\nnested\nc", [("blockquote", "q\nnested\nc"), ("code", "c")]),
        ("- a\n  - b\n- c", "• a\n  • b\n• c", []),
        ("3. a\n4. b", "3. a\n4. b", []),
        ("- [ ] t\n- [x] u", "☐ t\n✅ u", []),
        ("- a\n  ```py\n  x\n  ```\n  more\n- b", "• a\nx\nmore\n• b", [("pre", "x")]),
        ("_snake_case_names_ and snake_case", "snake_case_names and snake_case", [("italic", "snake_case_names")]),
        ("2 * 3 * 4 = 24", "2 * 3 * 4 = 24", []),
        ("**open and `tick", "**open and `tick", []),
        (r"\*x\* C:\foo\bar", r"*x* C:\foo\bar", []),
        ("a <b>x</b> c", "a <b>x</b> c", []),
        ("<div>\n<p>block</p>\n</div>\n\nend", "<div>\n<p>block</p>\n</div>\n\nend", []),
        ("<!-- note -->", "<!-- note -->", []),
        ("&lt;b&gt; &amp;", "<b> &", []),
        ("a\r\nb\r\n\r\nc", "a\nb\n\nc", []),
        ("a\x00b\x07c", "a b c", []),
        ("a\u2028b", "a\nb", []),
        ("half \ud83d whole \ud83d\ude00", "half \ufffd whole 😀", []),
        ("```", "```", []),
        ("```\n\tif x || y || z:\n```", "    if x || y || z:", [("pre", "    if x || y || z:")]),
        ("```\n\\(\\alpha + 1\\)\n```", "\\(\\alpha + 1\\)", [("pre", "\\(\\alpha + 1\\)")]),
        ("costs $5 or $6, ~7", "costs $5 or $6, ~7", []),
        (r"so \(\frac{a}{b}\)", "so a/b", [("code", "a/b")]),
        ("norm $||x||$ and ||y||", "norm ||x|| and y", [("code", "||x||"), ("spoiler", "y")]),
        ("a\n\n$$\\sum x$$\n\nb", "a\n\n∑ x\n\nb", [("pre", "∑ x")]),
        ("a\n\n---\n\nb", "a\n\n————————\n\nb", []),
        ("مرحبا **بالعالم** שלום", "مرحبا بالعالم שלום", [("bold", "بالعالم")]),
        ("日本語の**太字**です", "日本語の太字です", [("bold", "太字")]),
        ("👨‍👩‍👧 **🇩🇪** x", "👨‍👩‍👧 🇩🇪 x", [("bold", "🇩🇪")]),
    ],
)
def test_rendering(markdown: str, text: str, expected: list[tuple[str, str]]) -> None:
    piece = one(markdown)
    assert piece.text == text
    assert sorted(formatting(piece)) == sorted(expected)


@pytest.mark.parametrize("blank", ["", " ", "\n\t \n", "\u200b", "\r\n", "\u2800 \ufeff"])
def test_nothing_visible_makes_no_message(blank: str) -> None:
    assert pieces(blank) == ()
    assert preview(blank) == Piece("", ())


@pytest.mark.parametrize(
    ("markdown", "text", "expected"),
    [
        ("[x](https://a.de/c_(d)_e)", "x", {"x": "https://a.de/c_(d)_e"}),
        ("https://a.de/c_d_e(f)_g", "https://a.de/c_d_e(f)_g", {}),
        ("[p](tg://user?id=1)", "p", {"p": "tg://user?id=1"}),
        ("[j](javascript:alert)", "j (javascript:alert)", {}),
        ("[f](/src/a.py)", "f (/src/a.py)", {}),
        ("[here](http://localhost:8080/x)", "here (http://localhost:8080/x)", {}),
        ("[v6](<http://[2001:db8::1]:80/>)", "v6", {"v6": "http://[2001:db8::1]:80/"}),
        ("[mail](mailto:a@b.de), [call](tel:+491)", "mail (a@b.de), call (+491)", {}),
        ("<a@b.de>", "a@b.de", {}),
        ("[w](www.a.de)", "w", {"w": "https://www.a.de"}),
        ("![alt](https://a.de/i.png)", "🖼 alt", {"alt": "https://a.de/i.png"}),
        ("![](https://a.de/i.png)", "🖼 https://a.de/i.png", {"https://a.de/i.png": "https://a.de/i.png"}),
        ("[![b](https://i.de)](https://o.de)", "🖼 b", {"🖼 b": "https://o.de"}),
        ("[`code`](https://a.de)", "code", {"code": "https://a.de"}),
        ("see [1]\n\n[1]: https://a.de", "see 1", {"1": "https://a.de"}),
        ("[1]: https://a.de\n[2]: https://b.de", "[1]: https://a.de\n[2]: https://b.de", {}),
        ("see [B]\n\n[a]: https://a.de\n[b]: https://b.de", "see B\n\n[a]: https://a.de", {"B": "https://b.de"}),
    ],
)
def test_links(markdown: str, text: str, expected: dict[str, str]) -> None:
    piece = one(markdown)
    assert piece.text == text
    assert links(piece) == expected


def test_a_table_is_aligned_by_what_is_seen_and_keeps_its_links() -> None:
    piece = one("| a | 日本 | l |\n|---|---|---|\n| 👨‍👩‍👧 | $x_1$ | [t](http://a.b/c_d)<br>z |\n| é || `q` |")
    assert piece.text.split("\n") == [
        "a  | 日本 | l",
        "---+------+---------------------",
        "👨‍👩‍👧 | x_1  | t (http://a.b/c_d) z",
        "é  |      | q",
    ]
    assert formatting(piece) == [("pre", piece.text)]


def test_cells_beyond_the_heading_are_kept() -> None:
    assert "or | more" in one("| a |\n|---|\n| x | or | more |").text
    assert "y` | third" in one("| a | b |\n|---|---|\n| `x || y` | third |").text


@pytest.mark.parametrize(
    ("info", "language", "text"),
    [
        ("py", "py", "x"),
        ("", None, "x"),
        ("{.python}", "python", "x"),
        ("c++ title=x", "c++", "title=x\nx"),
        ("js:src/a.js", "js", "src/a.js\nx"),
        ("python src/a.py", "python", "src/a.py\nx"),
    ],
)
def test_the_language_of_a_fence(info: str, language: str | None, text: str) -> None:
    piece = one(f"Hello\n\n```{info}\nx\n```")
    assert piece.text == f"Hello\n\n{text}"
    assert [(entity.language, covered(piece, entity)) for entity in piece.entities] == [(language, "x")]


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
    blocks = [(entity.language, covered(part, entity)) for part in parts for entity in part.entities]
    assert {language for language, _ in blocks} == {"python"}
    assert "\n".join(block for _, block in blocks) == code


def test_a_block_that_fits_a_message_is_not_broken() -> None:
    block = "\n".join("x = 1" for _ in range(400))
    parts = valid("Words. " * 300 + f"\n\n```py\n{block}\n```\n\nEnd.")
    assert [covered(part, entity) for part in parts for entity in part.entities] == [block]


def test_code_of_ten_thousand_characters_without_a_line_end() -> None:
    parts = valid("```js\n" + "x" * 10_000 + "\n```")
    assert [len(part.text) for part in parts] == [4096, 4096, 1808]
    assert all([entity.language for entity in part.entities] == ["js"] for part in parts)


def test_fences_in_nested_lists() -> None:
    item = "- step\n  - inner\n    ```sh\n    echo {}\n    ```\n    then\n"
    parts = valid("".join(item.format(number) for number in range(120)), 1000)
    codes = [covered(part, entity) for part in parts for entity in part.entities if entity.type == "pre"]
    assert codes == [f"echo {number}" for number in range(120)]


def test_a_table_of_sixty_rows() -> None:
    rows = "\n".join(f"| {number} | {'name ' * 8} | {'value ' * 10}|" for number in range(60))
    parts = valid(f"| n | name | value |\n|---|---|---|\n{rows}")
    assert len(parts) >= 2
    assert all([entity.type for entity in part.entities] == ["pre"] for part in parts)
    assert [int(line.split(" ")[0]) for part in parts for line in part.text.split("\n") if line[0].isdigit()] == [
        *range(60)
    ]


def test_nine_thousand_characters_of_chinese() -> None:
    line = "".join(chr(0x4E00 + number % 5000) for number in range(9000))
    parts = valid(line)
    assert [len(part.text) for part in parts] == [4096, 4096, 808]
    assert "".join(part.text for part in parts) == line


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é", "❤️", "1️⃣", "각", "क्षि", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
@pytest.mark.parametrize("offset", range(4))
def test_a_visible_character_is_not_broken(cluster: str, offset: int) -> None:
    text = "x" * offset + cluster * 400
    parts = valid(text, 100)
    assert "".join(part.text for part in parts) == text
    for before, after in pairwise(parts):
        assert is_seam(before.text, after.text)
        assert after.text.startswith(cluster)


def test_links_and_addresses_are_not_broken() -> None:
    words = "word " * 17
    parts = valid(f"{words}[a link of some words here](https://a.de/b) and {words}https://b.de/{'path_' * 10}end", 100)
    assert [links(part) for part in parts if links(part)] == [{"a link of some words here": "https://a.de/b"}]
    assert any(f"https://b.de/{'path_' * 10}end" in part.text for part in parts)


def test_more_than_a_hundred_entities_make_more_messages() -> None:
    parts = valid("\n".join(f"- **term {number}** is `code {number}` for people" for number in range(120)))
    assert sum(len(part.entities) for part in parts) == 240
    assert len(parts) == 3


def test_formatting_in_excess_is_dropped_but_no_link() -> None:
    parts = valid("".join(f"*{number}* " for number in range(1500)))
    assert len(parts) <= 8
    linked = valid("".join(f"[{number}](https://a.de/{number}) *i* " for number in range(300)))
    urls = [entity.url for part in linked for entity in part.entities if entity.type == "text_link"]
    assert urls == [f"https://a.de/{number}" for number in range(300)]


def test_bold_across_messages_is_bold_in_both() -> None:
    parts = valid("**" + "word " * 100 + "end**", 200)
    assert all(formatting(part) == [("bold", part.text)] for part in parts)


def test_a_quote_with_marks_in_a_spoiler_ends() -> None:
    assert one("||a\n" + "> " * 60 + "b||").text == "a\nb"


def test_long_formulas_and_unmatched_delimiters_are_cheap_text() -> None:
    assert len("".join(part.text for part in valid("\\[" * 5000))) == 5000
    assert valid("\\(" + "\\frac{" * 2000 + "}" * 2000 + "\\)")


def test_plain_text_does_not_load_the_converter() -> None:
    script = (
        "import sys; from bot.rendering.telegram import pieces, preview; pieces('Plain text, no more.'); preview('x');"
        "assert not [name for name in sys.modules if name.startswith(('telegramify', 'pyromark'))];"
        "pieces('**x**'); loaded = {name.split('.')[0] for name in sys.modules};"
        "assert 'pyromark' in loaded and not loaded & {'aiohttp', 'httpx', 'PIL', 'requests'}"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root, timeout=60)


class PanicException(BaseException):
    """Named as what PyO3 raises when Rust code panics."""


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError, RecursionError, UnicodeError, PanicException])
def test_a_refusing_converter_means_plain_text(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def refuse(markdown: str) -> tuple[str, list[object]]:
        raise error("odd")

    monkeypatch.setattr(telegram, "_converter", lambda: refuse)
    assert pieces("**odd**\tx") == (Piece("**odd**    x", ()),)
    assert preview("**odd") == Piece("**odd**", ())


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(markdown: str) -> tuple[str, list[object]]:
        raise KeyboardInterrupt

    monkeypatch.setattr(telegram, "_converter", lambda: interrupt)
    with pytest.raises(KeyboardInterrupt):
        pieces("**x**")


@pytest.mark.parametrize("limit", [-1, 0, 1])
def test_a_limit_without_room_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="room"):
        pieces("x", limit)
    with pytest.raises(ValueError, match="room"):
        preview("x", limit)


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


def test_preview_of_a_long_answer_is_its_end() -> None:
    piece = preview("\n".join(f"line **{number}** of many" for number in range(3000)))
    assert_valid(piece, 4096)
    assert piece.text.startswith("…line ") and piece.text.endswith("line 2999 of many")
    assert utf16_length(piece.text) > 2500


def test_preview_in_a_long_fence_stays_code() -> None:
    piece = preview("Look:\n\n```python\n" + "x = 'abc'\n" * 3000)
    assert_valid(piece, 4096)
    assert [(entity.type, entity.language) for entity in piece.entities] == [("pre", "python")]
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
