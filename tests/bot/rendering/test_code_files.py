"""Long code blocks become files; other Markdown is unchanged."""

from __future__ import annotations

import pytest

from bot.rendering.code_files import MAX_FILES, with_code_files
from bot.rendering.telegram import pieces

ROOM = 100
LINE = "📎 {name} is attached."
LONG = "print('line')\n" * 30


def split(markdown: str, attached: str = LINE) -> tuple[str, list[tuple[str, str]]]:
    """The remaining text, and the files by name."""
    text, files = with_code_files(markdown, attached, ROOM, lambda block: len(pieces(block, ROOM)))
    return text, [(each.document.name, each.document.text) for each in files]


def test_a_long_block_becomes_a_file_in_its_place() -> None:
    text, files = split(f"Here **it** is:\n\n```python\n{LONG}```\n\nRun `it`.")
    assert text == "Here **it** is:\n\n📎 `main.py` is attached.\n\nRun `it`."
    assert files == [("main.py", LONG)]


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("Python title=app.py", "main.py"), ("py", "main.py"), ("js", "main.js"), ("c++", "main.cpp"), ("r", "main.r"),
        ("bash", "main.sh"), ("tex", "main.tex"), ("kt", "main.kt"), ("", "main.txt"), ("no-such-language", "main.txt"),
        ("../x", "main.txt"),
    ],
)  # fmt: skip
def test_the_language_gives_the_extension(language: str, name: str) -> None:
    assert split(f"```{language}\n{LONG}```")[1] == [(name, LONG)]


def test_several_blocks_become_files_with_distinct_names() -> None:
    block = f"```py\n{LONG}```"
    text, files = split(f"{block}\n\nand\n\n- in a list\n  ~~~js `x`\n  a = 'ä'\n{'  b' * 200}\n  ~~~\n\n{block}")
    assert [name for name, _ in files] == ["main.py", "main.js", "main-2.py"]
    assert files[1][1].startswith("a = 'ä'\nb  b")
    assert text == (
        "📎 `main.py` is attached.\n\nand\n\n- in a list\n  📎 `main.js` is attached.\n\n📎 `main-2.py` is attached."
    )
    assert len(split(f"{block}\n\n" * (MAX_FILES + 2))[1]) == MAX_FILES


def test_an_unclosed_block_becomes_a_file() -> None:
    assert split(f"So:\n```py\n{LONG}") == ("So:\n📎 `main.py` is attached.", [("main.py", LONG)])


@pytest.mark.parametrize(
    "markdown",
    [
        "", f"word {LONG}", f"`{LONG}`", "".join(f"    {line}\n" for line in LONG.splitlines()),
        "```py\n" + "x = 1\n" * 30 + "```", "a\r\n```py\r\nx\r\n```", "word " * 200 + "```py\nx\n```",
    ],
)  # fmt: skip
def test_short_or_unfenced_code_stays(markdown: str) -> None:
    assert split(markdown) == (markdown, [])


def test_without_a_replacement_line_code_stays() -> None:
    assert split(f"```py\n{LONG}```", "") == (f"```py\n{LONG}```", [])


def test_unparsable_text_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str) -> None:
        raise ValueError("odd")

    monkeypatch.setattr("bot.rendering.parser.fences", refuse)
    assert split(f"```py\n{LONG}```")[1] == []


def test_a_block_can_be_restored_if_files_are_refused() -> None:
    _, (file,) = with_code_files(f"~~~py\n```\n{LONG}~~~", LINE, ROOM, lambda block: 3)
    assert file.markdown == f"````py\n```\n{LONG}````"
