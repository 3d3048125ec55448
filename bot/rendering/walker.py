"""Walks the parser's events over a document: the library's walker with what it loses put right."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from telegramify_markdown.converter import EventWalker, _TextBuffer

from bot.rendering.clusters import columns
from bot.rendering.formulas import unicode_formula
from bot.rendering.links import accepted
from bot.rendering.plain import TAB, utf16_length

DEEPEST_LIST = 20
"""Lists within lists that are indented further than the one around them; a screen has no room for more."""
WIDEST_TABLE = 40
"""Columns of monospaced text that a phone shows in one line."""
_INFO = re.compile(r"([^\s{},:]*)[\s{},:]*(.*)", re.DOTALL)
_SPOILER_TAG = re.compile("</?tg-spoiler>")


def split_info(info: str) -> tuple[str, str]:
    """A fence's language and what else its opening line says: ``python src/a.py`` is python, and src/a.py."""
    word, rest = _INFO.fullmatch(info.strip("{}. ")).groups()  # type: ignore[union-attr]  # matches everything
    return word, rest


class _Buffer(_TextBuffer):  # type: ignore[misc]  # the library is untyped
    """The library's buffer; counting newlines takes no longer for a long text."""

    def write(self, text: str) -> None:
        if text:
            super().write(text)

    def trailing_newline_count(self) -> int:
        """Up to two, the most that anybody asks for."""
        end = "".join(self._parts[-2:])[-2:]
        return len(end) - len(end.rstrip("\n"))


class Walker(EventWalker):  # type: ignore[misc]  # the library is untyped
    """The library's walker; raw HTML is text, tables keep links and columns, headings are bold."""

    _code_block_parts: list[str]
    _list_stack: list[int | None]
    _code_block_lang: str
    _table_rows: list[list[str]]
    _HEADING_ENTITIES = {"H1": ["bold", "underline"], **{f"H{level}": ["bold"] for level in range(2, 7)}}  # noqa: RUF012

    def __init__(self, config: Any, source: str) -> None:
        super().__init__(config, source)
        self._buf = _Buffer()
        self._links: list[tuple[str, int, int]] = []  # address, UTF-16 offset, parts of the table cell so far
        self._bullet_end = -1
        self._row_end = self._cell_end = 0  # bytes of the source

    def _handle_event(self, event: Any) -> None:
        payload = event[0]
        if isinstance(payload, dict) and "Html" in payload:
            self._on_text(_SPOILER_TAG.sub("||", payload["Html"]))
        else:
            super()._handle_event(event)

    def _on_start(self, tag: Any, source_range: dict[str, int] | None = None) -> None:
        if tag == "HtmlBlock":
            self._ensure_block_spacing(self._source_start(source_range))
        if source_range and tag in ("TableRow", "TableCell"):
            self._row_end = source_range["end"] if tag == "TableRow" else self._row_end
            self._cell_end = source_range["end"] if tag == "TableCell" else source_range["start"]
        super()._on_start(tag, source_range)

    def _on_end(self, tag: Any) -> None:
        if tag in ("Link", "Image"):
            self._close_link()
            return
        if tag == "TableRow":
            self._keep_excess_cells()
        super()._on_end(tag)
        if tag == "HtmlBlock":
            self._mark_block_end()
        if tag in ("HtmlBlock", "CodeBlock", "Table") and self._list_stack and not self._buf.trailing_newline_count():
            self._buf.write("\n")

    def _on_start_item(self) -> None:
        whole: list[int | None] = self._list_stack
        self._list_stack = whole[-DEEPEST_LIST:]
        super()._on_start_item()
        whole[-1:], self._list_stack = self._list_stack[-1:], whole
        self._bullet_end = self._buf.py_offset

    def _ensure_block_spacing(self, next_block_start: int | None = None) -> None:
        in_item = self._list_stack and self._buf.py_offset > self._bullet_end
        if in_item and not self._buf.trailing_newline_count():
            self._buf.write("\n")
        super()._ensure_block_spacing(next_block_start)

    def _on_text(self, text: str) -> None:
        super()._on_text(text.replace("\t", TAB))  # the server would make each tab one space

    def _on_inline_code(self, code: str) -> None:
        super()._on_inline_code(code.replace("\t", TAB))

    def _on_inline_html(self, html: str) -> None:
        if self._in_table_cell:
            line_break = re.fullmatch(r"<br\s*/?>", html, re.IGNORECASE)
            self._on_text(" " if line_break else _SPOILER_TAG.sub("||", html))
        elif _SPOILER_TAG.fullmatch(html):
            super()._on_inline_html(html)
        else:
            self._on_text(html)

    def _on_inline_math(self, math: str) -> None:
        self._on_inline_code(unicode_formula(math))

    def _on_display_math(self, math: str, source_range: dict[str, int] | None = None) -> None:
        if self._in_table_cell:
            self._on_inline_code(unicode_formula(math))
            return
        self._ensure_block_spacing(self._source_start(source_range))
        self._push_entity("pre")
        self._on_text(unicode_formula(math, block=True))
        self._pop_entity("pre")
        self._mark_block_end()

    def _on_start_link(self, link_data: dict[str, Any]) -> None:
        self._links.append((link_data.get("dest_url", ""), self._buf.utf16_offset, len(self._cell_parts)))

    def _on_start_image(self, image_data: dict[str, Any]) -> None:
        self._on_text(self._config.markdown_symbol.image)
        self._on_start_link(image_data)

    def _close_link(self) -> None:
        """A link that the server would take becomes one; else, and in tables, the address follows the label."""
        address, start, cell_start = self._links.pop()
        label = "".join(self._cell_parts[cell_start:]) if self._in_table_cell else _after(self._buf, start)
        if not label.strip():
            self._on_text(address)
        url = accepted(address)
        if url and not self._in_table_cell:
            self._push_entity("text_link", url=url)
            self._entity_stack[-1].start_offset = start
            self._pop_entity("text_link")
        elif label.strip() and address and address.removeprefix("mailto:") != label:
            self._on_text(f" ({address.removeprefix('mailto:').removeprefix('tel:')})")

    def _keep_excess_cells(self) -> None:
        """The parser drops cells beyond the heading's, often half of an ``a || b``; they stay as written."""
        rest = self._source_bytes[self._cell_end : self._row_end].decode("utf-8", "replace").strip(" \t\n|")
        if rest:
            self._current_row.append(rest.replace("\t", TAB))

    def _on_end_code_block(self) -> None:
        """What stands behind the language (a file name) goes above; a fence with nothing in it is mostly its line."""
        info, self._code_block_lang = self._code_block_lang.replace("\t", TAB).strip(), ""
        if not any(self._code_block_parts):
            self._code_block_parts = [info]
        elif info:
            language, rest = split_info(info)
            self._code_block_lang = language
            if rest:
                self._ensure_block_spacing(self._code_block_start_source)
                self._buf.write(f"{rest}\n")
        super()._on_end_code_block()

    def _on_end_table(self) -> None:
        """A table wider than the screen of a phone becomes a list."""
        if self._width(self._table_rows) <= WIDEST_TABLE:
            super()._on_end_table()
            return
        self._buf.write(self._as_list(self._table_rows))
        self._table_rows = []
        self._mark_block_end()

    def _width(self, rows: list[list[str]]) -> int:
        """Columns of the aligned table."""
        widths = [max(map(columns, cells)) for cells in zip_longest(*rows, fillvalue="")]
        return sum(widths) + len(" | ") * (len(widths) - 1)

    def _as_list(self, rows: list[list[str]]) -> str:
        """A bullet for each row, with a line "heading: value" for each cell that is not empty."""
        heading, *others = rows
        if not others:
            return " | ".join(heading)
        items = []
        for row in others:
            pairs = [(name.strip(), cell.strip()) for name, cell in zip_longest(heading, row, fillvalue="")]
            lines = [f"{name}: {cell}" if name else cell for name, cell in pairs if cell]
            items.append("\n  ".join(lines))
        return "\n".join(f"• {item}" for item in items if item)

    def _format_table(self, rows: list[list[str]]) -> str:
        """Columns padded by what they take on the screen (the library counts characters)."""
        count = max((len(row) for row in rows), default=0)
        cells = [[*row, *[""] * (count - len(row))] for row in rows]
        widths = [max(columns(row[column]) for row in cells) for column in range(count)]
        lines = [
            " | ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        if len(lines) > 1:
            lines.insert(1, "-+-".join("-" * width for width in widths))
        return "\n".join(lines)


def _after(buffer: Any, start: int) -> str:
    """What was written since the UTF-16 offset `start`."""
    text = ""
    units = buffer.utf16_offset - start
    for part in reversed(buffer._parts):
        if utf16_length(text) >= units:
            break
        text = part + text
    return text if units else ""
