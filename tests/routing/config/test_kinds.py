"""Kinds of values in JSON files: every kind of number has an upper limit."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from routing.config.jsonfile import JsonFile, parse
from routing.config.kinds import MAX_DOLLARS, MAX_INTEGER, TEMPERATURE, TOKENS, WHOLE, Kind, dollars, number
from routing.errors import ConfigError

SECONDS = number("must be at most 60", 60)
AMOUNT = dollars("must be at most a million")
KINDS = (WHOLE, TOKENS, TEMPERATURE, SECONDS, AMOUNT)
NOT_NUMBERS: tuple[object, ...] = (True, None, "1", [1], {})
ABSURD = (10**400, -(10**400), 1e308, float("inf"), float("-inf"), float("nan"))


def refused(kind: Kind[Any], value: object) -> bool:
    try:
        kind.read(value)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [*NOT_NUMBERS, *ABSURD, -1])
def test_what_is_no_sensible_number_is_refused(kind: Kind[object], value: object) -> None:
    assert refused(kind, value)


@pytest.mark.parametrize(
    ("kind", "most"),
    [(WHOLE, MAX_INTEGER), (TOKENS, MAX_INTEGER), (TEMPERATURE, 2), (SECONDS, 60), (AMOUNT, MAX_DOLLARS)],
)
def test_the_limit_itself_is_accepted(kind: Kind[object], most: int) -> None:
    assert kind.read(most) == most
    assert refused(kind, most + 1)


def test_zero_is_accepted_only_where_it_means_something() -> None:
    assert TEMPERATURE.read(0) == dollars("", zero=True).read(0) == 0
    for kind in (WHOLE, TOKENS, SECONDS, AMOUNT):
        assert refused(kind, 0)


def test_dollars_are_exact() -> None:
    assert AMOUNT.read(0.1) == Decimal("0.1")


def read(text: str) -> JsonFile:
    return parse(text, "x.json")


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": {\n"b": %s}}', "x.json line 2: a.b must have at most 640 digits."),
        ('{"a": [1,\n%s]}', "x.json line 2: a.1 must have at most 640 digits."),
        ("%s", "x.json line 1: must have at most 640 digits."),
    ],
)
def test_a_number_too_long_to_parse_is_refused_with_its_line(text: str, said: str, sign: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(text % (sign + "1" * 5_000))
    assert str(refused.value) == said


def test_long_numbers_and_texts_are_parsed() -> None:
    document = {"number": 10**399, "text": "1" * 5_000}
    assert read(json.dumps(document)).document == document
