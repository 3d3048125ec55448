"""Markdown for a terminal: bold, tables, coloured code. No text is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import ClassVar

from markdown_it.token import Token
from rich.console import Console, JustifyMethod
from rich.markdown import Markdown, MarkdownElement, TableDataElement
from rich.text import Text

from bot.adapters.console.printable import printable
from bot.rendering.formulas import unicode_formula
from bot.rendering.parser import parse
from bot.rendering.plain import guarded

CODE_THEME = "ansi_dark"
"""The terminal's own sixteen colours on its own background."""
_PADDING = re.compile(r"(?<! ) ++((?:\x1b\[0m)?)(?=\n)")  # padding to the full width, which would wrap and be copied


def rendered(text: str, width: int) -> str:
    """The text for a terminal of `width` columns. Each line ends with a newline, after resetting its styles."""
    return _printed(_Written(text), width)


def dim(text: str, width: int) -> str:
    """A note of the bot about the conversation."""
    return _printed(Text(printable(text), style="dim"), width)


class _Cell(TableDataElement):
    """A table cell that breaks long words instead of cutting them."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content.overflow = "fold"


class _Written(Markdown):
    """Like a chat: line breaks are kept, HTML is text, and addresses of pictures and links are shown."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "td_open": _Cell,
        "th_open": _Cell,
    }

    def __init__(self, text: str) -> None:
        # rich can't be given tokens, and its own parser would lack formulas and spoilers.
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        source = printable(text)
        self.parsed = list(
            _readable(guarded(lambda: parse(source)[0], [*_paragraph(Token("text", "", 0, content=source))]))
        )


def _readable(tokens: Iterable[Token]) -> Iterator[Token]:
    """Convert tokens so that rich shows all of their text. Cleaned again, since a URL may hide control characters."""
    for token in tokens:
        match token.type:
            case "link_open" | "link_close" if token.markup == "autolink":
                pass
            case "image":
                yield _text(f"{token.content} ({token.attrs.get('src', '')})")
            case "html_inline" | "spoiler_open" | "spoiler_close":
                yield _text(token.content or "||")
            case "html_block":
                yield from _paragraph(_text(token.content.rstrip("\n")))
            case "math_inline":
                yield _formula(token)
            case "math_block":
                yield from _paragraph(_formula(token))
            case _:
                yield _cleaned(token)


def _cleaned(token: Token) -> Token:
    if token.type == "softbreak":
        token.type = "hardbreak"
    if token.type == "link_open":
        token.attrs["href"] = printable(str(token.attrs.get("href", "")))
    if token.children:
        token.children = list(_readable(token.children))
    token.content = printable(token.content)
    return token


def _text(content: str) -> Token:
    return Token("text", "", 0, content=printable(content))


def _formula(token: Token) -> Token:
    return Token("code_inline", "code", 0, content=printable(unicode_formula(token.content)))


def _paragraph(content: Token) -> tuple[Token, Token, Token]:
    inline = Token("inline", "", 0, content=content.content, children=[content])
    return Token("paragraph_open", "p", 1), inline, Token("paragraph_close", "p", -1)


def _printed(what: Markdown | Text, width: int) -> str:
    file = StringIO()
    Console(file=file, width=width, force_terminal=True, legacy_windows=False).print(what)
    return _PADDING.sub(r"\1", file.getvalue())
