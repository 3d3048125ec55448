"""Formats tables as monospaced text, or as lists if they are too wide for a phone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from bot.rendering.plain import columns

MAX_COLUMNS = 40
"""Columns of monospaced text that a phone shows in one line."""
Rows = Sequence[Sequence[str]]


def is_wide(rows: Rows) -> bool:
    widths = _widths(rows)
    return sum(widths) + len(" | ") * (len(widths) - 1) > MAX_COLUMNS


def as_table(rows: Rows) -> str:
    """Columns padded to their width on the screen."""
    widths = _widths(rows)
    lines = [
        " | ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in ([*row, *[""] * (len(widths) - len(row))] for row in rows)
    ]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]] if len(lines) > 1 else lines)


def as_list(rows: Rows) -> str:
    """One bullet per row, with a line "heading: value" for each cell that is not empty."""
    heading, *others = rows
    if not others:
        return " | ".join(heading)
    items = []
    for row in others:
        pairs = [(name.strip(), cell.strip()) for name, cell in zip_longest(heading, row, fillvalue="")]
        items.append("\n  ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell))
    return "\n".join(f"• {item}" for item in items if item)


def _widths(rows: Rows) -> list[int]:
    return [max(map(columns, cells)) for cells in zip_longest(*rows, fillvalue="")]
