"""The owner's settings for each size class."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from routing.config import jsonfile
from routing.config.presentation import PRESENTATIONS, Presentation, Strategy, read_presentations
from routing.errors import ConfigError
from routing.types.decisions import Size


def read(**presentation: object) -> dict[Size, Presentation]:
    document = json.dumps({"tools": {"presentation": presentation}}, indent=1)
    tools = jsonfile.parse(document, "runtime-config.json").root().child("tools")
    assert tools is not None
    return dict(read_presentations(tools))


def test_presentation_overrides_per_size() -> None:
    nothing = jsonfile.parse("{}", "runtime-config.json").root()
    assert read_presentations(nothing) == read() == read(S={}) == PRESENTATIONS
    assert read(S={"strategy": "hybrid"}, XL={"maxTools": 7, "maxTokens": 900}) == {
        "S": Presentation("hybrid", 8, 800),
        "M": PRESENTATIONS["M"],
        "L": PRESENTATIONS["L"],
        "XL": Presentation("full", 7, 900),
    }


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_every_strategy_can_be_chosen_by_its_name(strategy: Strategy) -> None:
    assert read(M={"strategy": strategy})["M"] == Presentation(strategy, 12, 2_000)


@pytest.mark.parametrize(
    ("presentation", "line", "reason"),
    [
        ({"XXL": {}}, 4, "tools.presentation.XXL is not a size class: use one of S, M, L, XL"),
        ({"s": {}}, 4, "tools.presentation.s is not a size class"),
        ({"S": {"strategy": "best"}}, 5, "tools.presentation.S.strategy must be one of top_k, reorder, full, hybrid"),
        ({"S": {"strategy": 3}}, 5, "tools.presentation.S.strategy must be one of top_k, reorder"),
        (
            {"S": {}, "M": {"tools": 3}},
            6,
            "tools.presentation.M.tools is unknown: use one of strategy, maxTools, maxTokens",
        ),
        ({"S": {"maxTools": 0}}, 5, "tools.presentation.S.maxTools must be a whole number above 0"),
        ({"S": {"maxTools": "8"}}, 5, "tools.presentation.S.maxTools must be a whole number above 0"),
        ({"S": {"maxTools": True}}, 5, "tools.presentation.S.maxTools must be a whole number above 0"),
        ({"S": {"maxTokens": -1}}, 5, "tools.presentation.S.maxTokens must be a whole number of tokens above 0"),
        ({"S": {"maxTokens": 1.5}}, 5, "tools.presentation.S.maxTokens must be a whole number of tokens above 0"),
        ({"S": 8}, 4, "tools.presentation.S"),
    ],
)
def test_wrong_values_are_named_with_file_and_line(presentation: dict[str, object], line: int, reason: str) -> None:
    with pytest.raises(ConfigError) as found:
        read(**presentation)
    assert str(found.value).startswith(f"runtime-config.json line {line}: {reason}")
