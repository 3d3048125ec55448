"""Converts Markdown to visible text and formatted spans."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token

from bot.rendering.formulas import unicode_formula
from bot.rendering.parser import parse
from bot.rendering.plain import TAB
from bot.rendering.spans import Accept, Span
from bot.rendering.tables import as_list, as_table, is_wide

MAX_LIST_DEPTH = 20
"""Maximum number of indented list levels."""
RULE = "—" * 8
_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough", "spoiler": "spoiler"}
_INFO = re.compile(r"([^\s{},:]*)[\s{},:]*(.*)", re.DOTALL)
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_PIPE = re.compile(r"(?<!\\)\|")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def render(markdown: str, accept: Accept) -> tuple[str, list[Span]]:
    """The visible text and its spans, sorted and nested; none lies within another of the same type.

    Types: bold, italic, strikethrough, spoiler, code, pre, blockquote, text_link, heading.
    """
    renderer = _Renderer(accept)
    renderer.blocks(*parse(markdown))
    spans = reversed(renderer.spans)  # inner ones were closed first
    return renderer.text(), sorted(spans, key=lambda span: (span.start, -span.end))


def split_info(info: str) -> tuple[str, str]:
    """A fence's language and the rest of its opening line: ``python src/a.py`` is python, and src/a.py."""
    match = _INFO.fullmatch(info.strip("{}. "))
    return (match[1], match[2]) if match else ("", "")


class _Renderer:
    """Writes the text of tokens, and notes where formatting begins and ends."""

    def __init__(self, accept: Accept) -> None:
        self.spans: list[Span] = []
        self._accept = accept
        self._parts: list[str] = []
        self._length = 0
        self._opened: list[tuple[str, int]] = []
        self._lists: list[int | None] = []
        self._at_start = True  # of the text, a quote or a list item
        self._end = 0  # the source line after the last block
        self._after_block = False
        self._links: list[tuple[str, int, int]] = []  # address, length and number of parts before the label
        self._rows: list[list[str]] = []
        self._line = ""  # of the source, with the present row
        self._in_cell = False

    def text(self) -> str:
        return "".join(self._parts)

    def blocks(self, tokens: Sequence[Token], lines: Sequence[str]) -> None:
        for index, token in enumerate(tokens):
            if token.nesting > 0:
                self._enter(token, lines, tokens[index + 2] if token.type == "list_item_open" else token)
            elif token.nesting < 0:
                self._leave(token)
            else:
                self._content(token)

    def _enter(self, token: Token, lines: Sequence[str], inner: Token) -> None:
        """`inner` is the first text of a list item."""
        match token.type:
            case "paragraph_open":
                self._begin(token)
            case "heading_open" | "blockquote_open":
                self._begin(token)
                self._open(token.type.removesuffix("_open"))
                self._at_start = True
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(1)
            case "list_item_open":
                self._item(token, inner)
            case "table_open":
                self._begin(token)
                self._rows, self._in_cell = [], True
            case "tr_open":
                self._rows.append([])
                self._line = lines[token.map[0]] if token.map else ""

    def _leave(self, token: Token) -> None:
        match token.type:
            case "heading_close" | "blockquote_close":
                self._close(token.type.removesuffix("_close"), level=int(token.tag[1:]) if token.tag[0] == "h" else 0)
                self._at_start = False
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "tr_close":
                self._keep_excess_cells()
            case "table_close":
                self._table()

    def _content(self, token: Token) -> None:
        if token.type != "inline":
            self._begin(token)
        match token.type:
            case "inline" if self._in_cell:
                self._cell(token.children or ())
            case "inline":
                self._inline(token.children or ())
            case "fence" | "code_block":
                self._code_block(token.content, token.info.strip())
            case "math_block":
                self._pre(unicode_formula(token.content, block=True))
            case "html_block":
                self._write(token.content.rstrip("\n"))
            case "hr":
                self._write(RULE)

    def _begin(self, token: Token) -> None:
        """Starts a block on a new line, after a blank line if the source has a gap there."""
        self._after_block = False
        if not self._at_start:
            self._write("\n\n" if token.map and token.map[0] > self._end else "\n")
        self._at_start = False
        if token.map and token.type not in ("blockquote_open", "list_item_open"):
            self._end = token.map[1]

    def _write(self, text: str) -> None:
        text = text.replace("\t", TAB).replace("\r", " ")
        if self._after_block and text.strip():
            text, self._after_block = "\n" + text.lstrip(), False
        self._parts.append(text)
        self._length += len(text)

    def _open(self, kind: str) -> None:
        self._opened.append((kind, self._length))

    def _close(self, kind: str, level: int = 0, language: str | None = None) -> None:
        _, start = self._opened.pop()
        if self._length > start and all(kind != outer for outer, _ in self._opened):
            self.spans.append(Span(kind, start, self._length, None, language, level))

    def _item(self, token: Token, inner: Token) -> None:
        starts = self._at_start
        self._begin(token)
        number = self._lists[-1]
        bullet = "• " if number is None else f"{token.info}. "
        task = _TASK.match(inner.content) if inner.type == "inline" else None
        if task and inner.children and inner.children[0].type == "text":
            inner.children[0].content = inner.children[0].content[task.end() :].lstrip()
            bullet = "☐ " if task[1] == " " else "✅ "
        self._write(("" if starts else "  " * (min(len(self._lists), MAX_LIST_DEPTH) - 1)) + bullet)
        self._at_start = True

    def _code_block(self, code: str, info: str) -> None:
        """A file name behind the language goes above; of a fence with nothing in it, its own line is the code."""
        language = ""
        if not code:
            code = info
        elif info:
            language, rest = split_info(info)
            self._write(f"{rest}\n" if rest else "")
        self._pre(code.removesuffix("\n"), language)

    def _pre(self, code: str, language: str = "") -> None:
        self._open("pre")
        self._write(code)
        self._close("pre", language=language or None)

    def _inline(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            kind, _, edge = token.type.rpartition("_")
            if style := _STYLES.get(kind):
                self._open(style) if edge == "open" else self._close(style)
            match token.type:
                case "text" | "text_special":
                    self._write(token.content)
                case "softbreak" | "hardbreak":
                    self._write(" " if self._in_cell else "\n")
                case "code_inline" | "math_inline":
                    self._code(token)
                case "html_inline":
                    self._write(" " if self._in_cell and _LINE_BREAK.fullmatch(token.content) else token.content)
                case "link_open":
                    self._links.append((str(token.attrs["href"]), self._length, len(self._parts)))
                case "link_close":
                    self._link()
                case "image":
                    self._write("🖼 ")
                    self._links.append((str(token.attrs["src"]), self._length, len(self._parts)))
                    self._inline(token.children or ())
                    self._link()

    def _at_line_start(self) -> bool:
        return self._at_start or not self._length or self._parts[-1].endswith("\n")

    def _code(self, token: Token) -> None:
        is_formula = token.type == "math_inline"
        if is_formula and token.block and not self._in_cell:
            if not self._at_line_start():
                self._write("\n")
            self._pre(unicode_formula(token.content, block=True))
            self._after_block = True
        else:
            self._open("code")
            self._write(unicode_formula(token.content) if is_formula else token.content)
            self._close("code")

    def _link(self) -> None:
        """Where the platform takes no address behind the label, it follows in brackets."""
        address, start, part = self._links.pop()
        label = "".join(self._parts[part:])
        if not label.strip():
            self._write(address)
        url = None if self._in_cell or self._links else self._accept(address, label)
        address = address.removeprefix("mailto:").removeprefix("tel:")
        if url:
            self.spans.append(Span("text_link", start, self._length, url))
        elif label.strip() and address and address != label and not self._links:
            self._write(f" ({address})")

    def _cell(self, tokens: Sequence[Token]) -> None:
        kept, self._parts, spans = self._parts, [], len(self.spans)
        self._inline(tokens)
        self._rows[-1].append("".join(self._parts))
        self._parts = kept
        del self.spans[spans:]

    def _keep_excess_cells(self) -> None:
        """The parser drops cells beyond the heading's, often half of an ``a || b``; they stay as written."""
        cells = _PIPE.split(self._line.strip(" \t>").removeprefix("|").removesuffix("|"))
        if excess := "|".join(cells[len(self._rows[0]) :]).strip(" |"):
            self._rows[-1].append(excess.replace("\t", TAB))

    def _table(self) -> None:
        self._in_cell = False
        self._length = sum(map(len, self._parts))
        if is_wide(self._rows):
            self._write(as_list(self._rows))
        else:
            self._pre(as_table(self._rows))
