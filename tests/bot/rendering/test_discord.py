"""Markdown for Discord: cases, and properties of every answer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rendering import telegram
from bot.rendering.discord import pieces, preview
from tests.bot.rendering.checker import squeezed
from tests.bot.rendering.test_properties import answers

Z = "\u200b"
PINGS = re.compile(r"@everyone|@here|<@[!&]?\d+>")
LONG = "https://a.de/" + "x" * 1500


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**b** _i_ `c` ~~s~~ ||p||", "**b** *i* `c` ~~s~~ ||p||"),
        ("***both*** and **a *b* c**", "***both*** and **a *b* c**"),
        ("__dunder__ snake_case_name __init__.py", "**dunder** snake_case_name **init**.py"),
        ("# Top\n\n## Two **b** `c`\n\n### Three", "# Top\n\n## Two b `c`\n\n### Three"),
        ("#### Four\n\n###### Six _i_", "**Four**\n\n**Six *i***"),
        ("> # In a quote\n> more", "> # In a quote\n> more"),
        ("## _all_ it is", "## *all* it is"),
        ("```sh\n# comment\n```", "```sh\n# comment\n```"),
        ("- a\n  - b\n- c", "- a\n  - b\n- c"),
        ("* a\n* b", "- a\n- b"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- [ ] t\n- [x] u", "☐ t\n✅ u"),
        ("> q **b**\n> r\n\nend", "> q **b**\n> r\n\nend"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
        ("~~~rust\nx\n~~~", "```rust\nx\n```"),
        ("````md\n```py\nx\n```\n````", f"```md\n`{Z}``py\nx\n`{Z}``\n```"),
        ("    ````", f"```\n`{Z}`{Z}``\n```"),
        ("```c++ main.cpp\nx\n```", "main.cpp\n```c++\nx\n```"),
        ("a\n\n    indented", "a\n\n```\nindented\n```"),
        ("`` a`b ``", "``a`b``"),
        ("[a](https://a.de/x_(y)_z)", "[a](https://a.de/x_%28y%29_z)"),
        ("**[a *b*](https://a.de)**", "**[a *b*](https://a.de)**"),
        ("[x [y] z](https://a.de)", "[x \\[y\\] z](https://a.de)"),
        ("[https://a.de](https://a.de)", "https://a.de"),
        ("[https://good.de](https://bad.de)", "https://good.de (https://bad.de)"),
        ("https://a.de/@everyone [x](https://a.de/@here)", "https://a.de/%40everyone [x](https://a.de/%40here)"),
        ("[chat](tg://resolve?domain=x)", "chat (tg://resolve?domain=x)"),
        (f"[**long**]({LONG})!", f"**long** ({LONG})!"),
        ("![cat](https://a.de/cat.png)", "🖼 [cat](https://a.de/cat.png)"),
        ("see https://a.de/b_c_d and <https://q.de/e_f_>", "see https://a.de/b_c_d and https://q.de/e_f_"),
        (r"$x$, \(a\), $5 and $10, 2*3*4", r"`x`, `a`, $5 and $10, 2\*3\*4"),
        (f"| a | b |\n|---|---|\n| {'x' * 30} | {'y' * 9} |", f"- a: {'x' * 30}\n  b: {'y' * 9}"),
        (r"so \(\frac{a}{b}\) and $\alpha + 1$", "so `a/b` and `α + 1`"),
        ("a\n\n$$\\sum x$$\n\nb", "a\n\n```\n∑ x\n```\n\nb"),
        ("a <b>x</b> <br> c", "a <b>x</b> <br> c"),
        ("<div>\n# no\n</div>", "<div>\n\\# no\n</div>"),
        ("2 * 3 * 4 = 24, a_ _b", "2 \\* 3 \\* 4 = 24, a\\_ \\_b"),
        (r"\*x\* \# \`y\` C:\foo\bar", r"\*x\* # \`y\` C:\\foo\\bar"),
        ("\\# no\n\n\\> no\n\n\\- no\n\n\\-# no", "\\# no\n\n\\> no\n\n\\- no\n\n\\-# no"),
        ("if (a || b || c) ~~~ x", "if (a \\|\\| b \\|\\| c) \\~\\~\\~ x"),
        (r"\[a](https://b.de) [1] [x]", r"\[a](https://b.de) [1] [x]"),
        ("@everyone @here me@here.de", f"@{Z}everyone @{Z}here me@{Z}here.de"),
        ("<@123> <@!4> <@&5>", f"<{Z}@123> <{Z}@!4> <{Z}@&5>"),
        ("<#5> </tier:6> <:x:7> <t:8:R> <a:y:9>", "\\<#5> \\</tier:6> \\<:x:7> \\<t:8:R> \\<a:y:9>"),
        ("1 < 2 and a <-> b", "1 < 2 and a <-> b"),
        ("**a***b*", f"**a**{Z}*b*"),
        ("a  \nb\nc", "a\nb\nc"),
        ("## _a_ [x](https://a.de/é)\n\n```\n# [y]\n```", "## *a* [x](https://a.de/é)\n\n```\n# [y]\n```"),
        ("# [https://a.de/1](https://a.de/2) _x_\n**b**", "# https://a.de/1 (https://a.de/2) *x*\n**b**"),
        ("# ~~x~~", "# ~~x~~"),
        ("# ` x`", "# `x`"),
        ("# <tg-spoiler>", "# <tg-spoiler>"),
        ("plain", "plain"),
        (" \n ", None),
        ("```", "\\`\\`\\`"),
    ],
)
def test_rendering(markdown: str, expected: str | None) -> None:
    assert pieces(markdown) == (() if expected is None else (expected,))


def test_a_split_block_is_closed_and_reopened() -> None:
    code = "\n".join(f"print({number})  # ```" for number in range(300))
    parts = pieces(f"Look:\n\n```python\n{code}\n```\n\nDone.")
    assert len(parts) > 2
    assert parts[0].startswith("Look:\n\n```python\n")
    assert parts[-1].endswith("\n```\n\nDone.")
    assert all(part.startswith("```python\n") for part in parts[1:])
    assert all(part.endswith("\n```") for part in parts[:-1])
    inner = "\n".join(re.sub(r"^(?:Look:\n\n)?```python\n|\n```(?:\n\nDone\.)?$", "", part) for part in parts)
    assert inner.replace(Z, "") == code


def test_split_styles_and_quotes_continue() -> None:
    for text, mark in (("**" + "bold words " * 300 + "end**", "**"), ("*" + "word " * 600 + "x*", "*")):
        parts = pieces(text)
        assert len(parts) == 2
        assert all(part.startswith(mark) and part.endswith(mark) for part in parts)
    quote = pieces("> " + "quoted words " * 300 + "\n> end")
    assert len(quote) == 2
    assert all(part.startswith("> ") for part in quote)


def test_a_link_is_never_broken() -> None:
    link = "[a label of some words](https://a.de/" + "y" * 100 + ")"
    parts = pieces(f"text {link} " * 40)
    assert len(parts) > 2
    assert all(part.count("](https") == part.count("y)") for part in parts)


def test_a_long_preview_shows_the_end() -> None:
    text = "Beginning. " + "Some more words. \n" * 400 + "\n```py\nx = 1\n"
    shown = preview(text)
    assert shown.startswith("…\n")
    assert shown.endswith("```py\nx = 1\n```")
    assert 1500 < len(shown) <= 2000
    assert preview("The **ans") == "The **ans**"
    assert preview("see [the docs](https://a.d") == "see the docs"
    assert preview(" ") == ""
    assert preview("# Title\n\n- ") == "# Title"


@pytest.mark.parametrize("limit", [0, 99])
def test_a_too_small_limit_is_an_error(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 100"):
        pieces("x", limit)


def unescaped(part: str) -> str:
    """Visible letters and digits, link targets included."""
    return re.sub(r"\W|_", "", part)


@settings(max_examples=500, deadline=None)
@given(answers, st.sampled_from([100, 200, 2000]))
def test_every_piece_fits_and_the_whole_text_arrives(markdown: str, limit: int) -> None:
    parts = pieces(markdown, limit)
    assert all(0 < len(part) <= limit and part == part.strip() for part in parts)
    assert all(part.count("```") % 2 == 0 for part in parts)
    seen = "".join(unescaped(part) for part in parts)
    for part in telegram.pieces(markdown):
        for word in re.findall(r"[^\W_]{3,}", part.text):
            assert word in seen or not squeezed(word)


@settings(max_examples=300, deadline=None)
@given(answers)
def test_the_preview_of_any_beginning_fits(markdown: str) -> None:
    assert len(preview(markdown, 150)) <= 150


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(["@everyone", "@here", "<@12>", "<@!3>", "<@&4>", "**", "_", "`", "[", "](https://a.de)",
                                 "<", "@", "&", "12>", "\\", "\u200b", "\n", "> ", "# ", "||", " ", "&lt;", "$", "x"]),
                max_size=30).map("".join))  # fmt: skip
def test_no_text_outside_code_pings(markdown: str) -> None:
    for part in (*pieces(markdown), preview(markdown)):
        prose = re.sub(r"\\[^\w\s]|(`{3}).*?\1|(``?)(?!`).*?[^`]\2(?!`)", " ", part, flags=re.DOTALL)
        assert not PINGS.search(prose)
