"""Further registration errors: examples, categories, priorities, roles, broken texts, and sizes that require more than
XL."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.authoring.decorator import runnable, tool, tools_of
from handlers.tools.authoring.manifests import read_toolkit
from handlers.tools.authoring.registration import register
from routing.errors import ConfigError
from tests.handlers.tools.authoring.manifest import document, written
from tests.handlers.tools.authoring.test_registration import card_with, parameters

HALF = "Sun \ud83d"
NO_LIST = r'examples that are not a list of non-blank strings: give examples=\["…", "…"\], or leave them out'
NO_NUMBER = "a priority that is not a finite number"
HALVED = r"with half a character \(a lone surrogate\): write the whole one"


def with_default(default: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"city": {"type": "string", "default": default}}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"examples": "Regen?"}, NO_LIST),
        ({"examples": b"How many?"}, NO_LIST),
        ({"examples": None}, NO_LIST),
        ({"examples": 5}, NO_LIST),
        ({"examples": {"weather": ["How many?"]}}, NO_LIST),
        ({"examples": ["How many?", 5]}, NO_LIST),
        ({"examples": ["How many?", " "]}, NO_LIST),
        ({"category": 5}, 'a category that is not a string: give category="…", or leave it out'),
        ({"category": None}, "a category that is not a string"),
        ({"priority": float("nan")}, NO_NUMBER),
        ({"priority": float("inf")}, NO_NUMBER),
        ({"priority": Decimal("-Infinity")}, NO_NUMBER),
        ({"priority": None}, NO_NUMBER),
        ({"descriptions": HALF}, f"a description for S {HALVED}"),
        ({"descriptions": {"M": "Sun.", "XL": HALF}}, f"a description for XL {HALVED}"),
        ({"examples": ["Sun?", HALF]}, f"an example {HALVED}"),
        ({"category": HALF}, f"a category {HALVED}"),
        ({"parameters": {"M": with_default("sun"), "XL": with_default(HALF)}}, f"a schema for XL {HALVED}"),
    ],
)
def test_an_invalid_value_is_refused_with_the_tools_name(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=f"^The tool weather has {reason}"):
        card_with(**change)


def test_valid_values_are_accepted() -> None:
    card = card_with(examples=["Sun? ☀", "Regen?"], category="날씨", priority=Decimal("1.5"))
    assert (card.examples, card.category, card.priority) == (("Sun? ☀", "Regen?"), "날씨", 1.5)


FREE, CITY = parameters("city", "day"), parameters("city", "day", required=("city",))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"S": CITY, "XL": FREE},
            "requires city for S, which XL leaves free: require it for XL, too, or",
        ),
        ({"M": FREE, "L": CITY, "XL": FREE}, "requires city for L, which XL leaves free"),
        (
            {"S": parameters("day", required=("city",)), "XL": CITY},
            "requires city for S without saying what that is: add it to the properties there, or leave it out",
        ),
        ({"XL": parameters(required=("city",))}, "requires city for XL without saying what that is"),
        ({"S": parameters("day", required=("hour", "day")), "XL": FREE}, "requires hour for S without saying"),
    ],
)
def test_a_size_cannot_require_missing_or_optional_parameters(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=f"^The tool weather {reason}"):
        card_with(parameters=given)


def test_a_size_may_require_as_much_as_the_largest() -> None:
    card = card_with(parameters={"S": parameters("city", required=("city",)), "XL": CITY})
    assert card.texts["S"].parameters["required"] == card.texts["XL"].parameters["required"] == ["city"]


@pytest.mark.parametrize("examples", ["Stars?", None, ["How many?", 3]])
def test_examples_are_given_at_registration(examples: Any) -> None:
    @tool(examples=examples)
    def stars(city: str) -> str:
        """Count the stars."""
        return city

    with pytest.raises(ConfigError, match=f"^The tool stars has {NO_LIST}"):
        register(stars)


def test_examples_may_be_a_generator() -> None:
    def examples() -> Iterable[str]:
        yield from ("How many stars?", "Any stars?")

    @tool(examples=examples())
    def stars(city: str) -> str:
        """Count the stars."""
        return city

    assert register(stars).examples == register(stars).examples == ("How many stars?", "Any stars?")


@pytest.mark.parametrize("role", ["ownr", "blocked", None])
def test_an_unknown_role_is_refused(role: Any) -> None:
    @tool(role=role)
    def stars(city: str) -> str:
        """Count the stars."""
        return city

    for taken in (register, runnable):
        with pytest.raises(
            ConfigError, match=rf"^The tool stars has the role {role!r}: give it one of owner, admin, user, guest\."
        ):
            taken(stars)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("traits", r"traits=5: give it Traits\(…\), or a method that returns them\."),
        ("off", "off=5: give it a function, or leave it out."),
        ("asks", "asks=5: give it a function, or leave it out."),
        ("describe", "describe=5: give it a function, or leave it out."),
    ],
)
def test_a_setting_that_is_no_function_is_refused(setting: str, reason: str) -> None:
    wrong: Any = {setting: 5}

    class Sky:
        @tool(**wrong)
        def stars(self, city: str) -> str:
            """Count the stars."""
            return city

    (stars,) = tools_of(Sky())
    for taken in (register, runnable):
        with pytest.raises(ConfigError, match=f"^The tool stars has {reason}"):
            taken(stars)


def test_an_undefined_required_parameter_is_refused_with_its_position(tmp_path: Path) -> None:
    given = document()
    given["tasks"][0]["function"]["parameters"]["required"] = ["hour"]
    said = r"^weather\.json line \d+: The tool get_weather requires hour for \w+ without saying what that is"
    with pytest.raises(ConfigError, match=said):
        read_toolkit(written(tmp_path, given))
