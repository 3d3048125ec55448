"""The buttons of a reply as Discord's components: rows of buttons or, where there are too many, menus to choose from.

Buttons and choices carry only which reply and which place: the command stays with us.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from handlers.presses import token
from routing.types import Button

Json = dict[str, Any]
MAX_ROWS, MAX_IN_ROW, MAX_CHOICES = 5, 5, 25
MAX_LABEL, MAX_CHOICE = 80, 100
"""Characters."""
_ROW, _BUTTON, _MENU, _GREY = 1, 2, 3, 2

_Row = list[tuple[str, str]]
"""Labels and tokens."""


def components(buttons: Sequence[Sequence[Button]], outbox_id: int) -> list[Json]:
    """At most five rows. Where that is not enough, buttons that have a row each become the choices of a menu; where
    even that is not, all of them do. A choice is a press of the token that is its value."""
    rows: list[_Row] = []
    for row, line in enumerate(buttons):
        cells = [(button.label, token(outbox_id, row, column)) for column, button in enumerate(line)]
        rows += _parts(cells, MAX_IN_ROW)
    if len(rows) <= MAX_ROWS:
        return [_row(cells) for cells in rows]
    groups: list[tuple[bool, _Row]] = []
    for alone, lines in groupby(rows, lambda cells: len(cells) == 1):
        if alone:
            groups += [(True, part) for part in _parts([cell for line in lines for cell in line], MAX_CHOICES)]
        else:
            groups += [(False, line) for line in lines]
    if len(groups) > MAX_ROWS:
        groups = [(True, part) for part in _parts([cell for line in rows for cell in line], MAX_CHOICES)]
    shown = groups[:MAX_ROWS]
    return [_menu(cells, f"m:{outbox_id}:{n}") if alone else _row(cells) for n, (alone, cells) in enumerate(shown)]


def _row(cells: _Row) -> Json:
    made = [{"type": _BUTTON, "style": _GREY, "label": _cut(label, MAX_LABEL), "custom_id": it} for label, it in cells]
    return {"type": _ROW, "components": made}


def _menu(cells: _Row, custom_id: str) -> Json:
    options = [{"label": _cut(label, MAX_CHOICE), "value": it} for label, it in cells]
    return {"type": _ROW, "components": [{"type": _MENU, "custom_id": custom_id, "options": options}]}


def _parts(cells: _Row, size: int) -> list[_Row]:
    return [cells[start : start + size] for start in range(0, len(cells), size)]


def _cut(label: str, length: int) -> str:
    return label if len(label) <= length else label[: length - 1] + "…"
