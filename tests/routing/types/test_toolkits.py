"""The estimated size of a tool's definition in any script: too high rather than too low."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.tools.presentation import tokens
from routing.types.decisions import SIZES
from routing.types.llm import ToolSpec
from routing.types.toolkits import QUARTERS, ToolCard, ToolText, text_weight, weight

SCRIPTS = [line.split("\t") for line in (Path(__file__).parent / "scripts.tsv").read_text("utf-8").splitlines()]
"""A name, a text, and the number of tokens in o200k (GPT-4o and later) of its `definition`."""


def definition(text: str) -> ToolSpec:
    """A tool with this text as its description and that of its only parameter."""
    subject = {"type": "string", "description": text}
    return ToolSpec("tool", text, {"type": "object", "properties": {"subject": subject}})


@pytest.mark.parametrize(("count", "text"), [pytest.param(*each, id=name) for name, *each in SCRIPTS])
def test_no_script_is_underestimated(count: str, text: str) -> None:
    assert int(count) <= weight(definition(text)) / QUARTERS <= 2.5 * int(count)


def test_english_is_barely_overestimated() -> None:
    count, text = next(each for name, *each in SCRIPTS if name == "English")
    assert tokens([definition(text)]) <= 1.25 * int(count)


@pytest.mark.parametrize(
    ("text", "quarters"),
    [
        ("a word, and_another-one: {}", 27),
        ("AB", 10),
        ("7", 5),
        ("é", 5),
        ("날씨", 8),
        ("я", 2),
        ("яя", 4),
        ("яяяяяяя", 11),
        ("", 0),
    ],
)
def test_estimates_are_multiples_of_a_quarter(text: str, quarters: int) -> None:
    assert text_weight(text) == quarters


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=20), max_size=5))
def test_the_parts_sum_to_at_least_the_whole(texts: list[str]) -> None:
    assert text_weight("".join(texts)) <= sum(map(text_weight, texts))


def test_a_card_knows_its_definitions_tokens() -> None:
    made = ToolCard("tool", {size: ToolText(f"Погода {size}", {"type": "object", "properties": {}}) for size in SIZES})
    assert {size: weight(made.spec(size)) for size in SIZES} == made.weights
