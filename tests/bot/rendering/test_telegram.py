"""Markdown as Telegram messages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.rendering.telegram import Piece, pieces, preview
from tests.bot.rendering.checker import covered
from tests.bot.rendering.pieces import formatting, links, one, valid


@pytest.mark.parametrize(
    ("markdown", "text", "expected"),
    [
        ("**b** _i_ `c` ~~s~~", "b i c s", [("bold", "b"), ("italic", "i"), ("code", "c"), ("strikethrough", "s")]),
        ("# Top\n\ntext", "Top\n\ntext", [("bold", "Top"), ("underline", "Top")]),
        ("### Low **x**", "Low x", [("bold", "Low x")]),
        ("## T `c` e", "T c e", [("bold", "T"), ("code", "c"), ("bold", "e")]),
        ("it is ||secret||.", "it is secret.", [("spoiler", "secret")]),
        ("||a `b` c||", "a b c", [("spoiler", "a b c")]),
        ("**a ||b** c||", "a ||b c||", [("bold", "a ||b")]),
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
        ("[a][1]\n\n[1]: https://a.de\n[2]: https://b.de", "a\n\n[2]: https://b.de", {"a": "https://a.de"}),
        ("see [B]\n\n[a]: https://a.de\n[b]: https://b.de", "see B\n\n[a]: https://a.de", {"B": "https://b.de"}),
    ],
)
def test_links(markdown: str, text: str, expected: dict[str, str]) -> None:
    piece = one(markdown)
    assert piece.text == text
    assert links(piece) == expected


def test_a_table_is_aligned_by_display_width_and_keeps_links() -> None:
    piece = one("| a | 日本 | l |\n|---|---|---|\n| 👨‍👩‍👧 | $x_1$ | [t](http://a.b/c_d)<br>z |\n| é || `q` |")
    assert piece.text.split("\n") == [
        "a  | 日本 | l",
        "---+------+---------------------",
        "👨‍👩‍👧 | x₁   | t (http://a.b/c_d) z",
        "é  |      | q",
    ]
    assert formatting(piece) == [("pre", piece.text)]


FORMULAS = [
    (r"With $x$ and \(a\), \(\frac{a+b}{c}\) holds.", "With `x` and `a`, `(a+b)/c` holds."),
    (r"\(x_1^2 + \sqrt{y}\), $\sqrt{a+b}$, $\dfrac{a}{b}$", "`x₁² + √y`, `√(a+b)`, `a/b`"),
    (r"$\sqrt 2 + \sqrt {a+b}$", "`√2 + √(a+b)`"),
    (r"$\alpha \leq \pi \ne 3$ \(e^{i\pi}\)", "`α ≤ π ≠ 3` `e^(iπ)`"),
    (r"$\foo{x}$ and \(\foo{y}\)", r"`\foo{x}` and `\foo{y}`"),
    (r"$5 and $10, \(n\) of $7", "$5 and $10, `n` of $7"),
    (r"from $HOME/$USER", "from $HOME/$USER"),
    ("2*3*4, a*b*c, f(x)*g*(y)", "2*3*4, a*b*c, f(x)*g*(y)"),
    ("2*3*4*5*6 = 720", "2*3*4*5*6 = 720"),
    ("α*β*γ, x²*y²*z², Б*ц*д", "α*β*γ, x²*y²*z², Б*ц*д"),
    ("x**2 + y**2 = z", "x**2 + y**2 = z"),
    (r"\(a*b*c\) and $2*3*4$", "`a*b*c` and `2*3*4`"),
    (r"`\(a\) 2*3*4 $x$` stays", r"`\(a\) 2*3*4 $x$` stays"),
    (r"see \(the notes\) and \[1\]", "see (the notes) and [1]"),
]
"""Markdown, and its visible text with code in backticks."""


@pytest.mark.parametrize(("markdown", "shown"), FORMULAS)
def test_formulas_prices_and_products(markdown: str, shown: str) -> None:
    piece = one(markdown)
    assert piece.text == shown.replace("`", "")
    assert formatting(piece) == [("code", code) for code in re.findall("`([^`]*)`", shown)]


def test_emphasis_in_and_around_words_stays() -> None:
    expected = [("italic", "Model"), ("bold", "H"), ("bold", "T")]
    assert formatting(one("*Model*s and **H**yper**T**ext")) == expected
    assert formatting(one("这是*重点*内容, 这是**重点**内容")) == [("italic", "重点"), ("bold", "重点")]


def test_formulas_on_separate_lines_are_blocks() -> None:
    block = one("So\n\n\\[\n\\frac{1}{n}\n= x\n\\]\n\nand\n\n$$\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}$$")
    assert formatting(block) == [("pre", "1/n = x"), ("pre", "a = b\nc = d")]


def test_a_table_wider_than_a_phone_is_a_list() -> None:
    wide = "| Name | Text | |\n|---|---|---|\n" + f"| Ada | {'long ' * 9} | x |\n| Bob | | |"
    assert one(wide).text == f"• Name: Ada\n  Text: {'long ' * 9}".rstrip() + "\n  x\n• Name: Bob"
    assert formatting(one(wide)) == []
    at_most = f"| {'a' * 20} | {'b' * 17} |\n|---|---|\n| 1 | 2 |"
    assert formatting(one(at_most)) == [("pre", one(at_most).text)]


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
    assert [(entity.get("language"), covered(piece, entity)) for entity in piece.entities] == [(language, "x")]


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_blocks_nested_too_deeply_are_shown_as_written(mark: str) -> None:
    assert one("||a\n" + mark * 60 + "b||").text == "||a\n" + mark * 60 + "b||"


def test_long_formulas_and_unmatched_delimiters_are_cheap_text() -> None:
    assert len("".join(part.text for part in valid("\\[" * 5000))) == 5000
    assert valid("\\(" + "\\frac{" * 2000 + "}" * 2000 + "\\)")


def test_plain_text_does_not_load_the_converter() -> None:
    script = (
        "import sys; from bot.rendering.telegram import pieces, preview; pieces('Plain text, no more.'); preview('x');"
        "assert not [name for name in sys.modules if name.startswith(('telegramify', 'markdown_it'))];"
        "pieces('**x**'); loaded = {name.split('.')[0] for name in sys.modules};"
        "assert 'markdown_it' in loaded and not loaded & {'aiohttp', 'httpx', 'PIL', 'requests'}"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root, timeout=60)


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError, RecursionError, UnicodeError])
def test_a_converter_error_means_plain_text(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def refuse(markdown: str, *_: object) -> tuple[str, list[object]]:
        raise error("odd")

    monkeypatch.setattr("bot.rendering.split.converted", refuse)
    assert pieces("**odd**\tx") == (Piece("**odd**    x", ()),)
    assert preview("**odd") == Piece("**odd**", ())


def test_other_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(markdown: str, *_: object) -> tuple[str, list[object]]:
        raise KeyboardInterrupt

    monkeypatch.setattr("bot.rendering.split.converted", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pieces("**x**")
