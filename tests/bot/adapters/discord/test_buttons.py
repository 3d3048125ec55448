"""Buttons within Discord's limits."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.discord.parts import components
from routing.types.messages import Button
from tests.servers.discord.components import check_components


def shape(rows: list[dict[str, Any]]) -> list[str]:
    """Each row as its number of buttons ("3") or of choices ("m25")."""
    found = []
    for row in rows:
        menu = row["components"][0].get("options")
        found.append(f"m{len(menu)}" if menu is not None else str(len(row["components"])))
    return found


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((), []),
        ((2, 1), ["2", "1"]),
        ((1, 1, 1, 1, 1), ["1"] * 5),
        ((8,), ["5", "3"]),
        ((1,) * 6, ["m6"]),
        ((1,) * 26, ["m25", "m1"]),
        ((1, 1, 1, 1, 3, 2), ["m4", "3", "2"]),
        ((4, 1, 1, 1, 1, 1, 1, 2), ["4", "m6", "2"]),
        ((3,) * 6, ["m18"]),
        ((2, 1) * 4, ["m12"]),
        ((3,) * 60, ["m25"] * 5),
    ],
)
def test_rows_and_menus(rows: tuple[int, ...], expected: list[str]) -> None:
    buttons = tuple(tuple(Button(f"{row}.{column}", "/x") for column in range(size)) for row, size in enumerate(rows))
    made = components(buttons, 7)
    assert shape(made) == expected
    check_components(made, is_v2=False)
    for row in made:
        for control in row["components"]:
            for shown in control.get("options", [control]):
                token = shown.get("value") or shown["custom_id"]
                assert token == f"t:7:{shown['label']}"
                assert len(token) <= 100


def test_long_labels_are_cut() -> None:
    (row,) = components(((Button("x" * 81, "/x"),),), 7)
    assert row["components"][0]["label"] == "x" * 79 + "…"
    (menu,) = components(tuple((Button("y" * 101, "/x"),) for _ in range(6)), 10**17)
    assert menu["components"][0]["options"][5] == {"label": "y" * 99 + "…", "value": f"t:{10**17}:5.0"}
