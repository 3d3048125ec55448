"""How much of the payer's budget a council reserves, what it is charged, and from which cost on it asks first."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.config.sections import CouncilConfig
from routing.council.costs import charged, estimate, priced_calls
from routing.errors import ConfigError
from routing.types.budgets import Price
from routing.types.llm import Usage
from routing.types.usage import CallRecord
from tests.routing.council.members import SEATS, SUN

DOLLAR = Price.flat(Decimal(1))
"""A million tokens."""


def unknown_price(model: str, /) -> Price | None:
    return None


def only_the_sun(model: str, /) -> Price | None:
    return DOLLAR if model == SUN else None


def call(cost: str | None, tokens: int = 500_000) -> CallRecord:
    return CallRecord("deep", SUN, Usage(tokens, tokens, cost=None if cost is None else Decimal(cost)), 1.0)


def test_known_costs_are_reserved_and_unknown_ones_are_unknown() -> None:
    some = estimate("Is it so?", SEATS, only_the_sun)
    assert (some.calls, some.unknown) == (7, 4)
    assert some.dollars == some.cost > 0
    assert estimate("Is it so?", SEATS, unknown_price).dollars is None
    assumed = estimate("Is it so?", SEATS, unknown_price, DOLLAR)
    assert assumed.unknown == 0
    assert assumed.dollars == assumed.cost > some.cost


def test_all_calls_are_charged_as_one() -> None:
    assert charged([call("0.1"), call("0.2")]) == Usage(1_000_000, 1_000_000, cost=Decimal("0.3"))
    ended = CallRecord("deep", SUN, None, 1.0)
    assert charged([call("0.1"), call(None), ended]).cost == Decimal("0.1")
    assert charged([call("0.1"), call(None), ended], DOLLAR).cost == Decimal("1.1")


def test_cancelled_calls_cost_their_estimate() -> None:
    ended = CallRecord("deep", SUN, None, 1.0)
    assert charged([ended, ended], None, Decimal("0.05")) == Usage(0, 0, cost=Decimal("0.10"))
    assert charged([call("0.1"), ended], DOLLAR, Decimal("0.05")).cost == Decimal("0.15")
    counted, uncounted = priced_calls([call("0.1"), ended], Decimal("0.05"))
    assert counted == call("0.1")
    assert uncounted == replace(ended, charged=Decimal("0.05"))


def test_an_unknown_price_is_not_free() -> None:
    assert charged([call(None), call(None)]).cost is None
    assert charged([CallRecord("deep", SUN, None, 1.0)]).cost is None


def read(section: object) -> CouncilConfig:
    return read_config(jsonfile.parse(json.dumps({"council": section}), "runtime-config.json"), {}, {}).council


@pytest.mark.parametrize(
    ("given", "above"), [({}, "0.25"), ({"confirmAboveUsd": 0}, "0"), ({"confirmAboveUsd": 1.5}, "1.5")]
)
def test_the_cost_above_which_a_council_asks(given: object, above: str) -> None:
    assert read(given).confirm_above == Decimal(above)


@pytest.mark.parametrize(("given", "above"), [({}, "0.10"), ({"confirmAboveUsd": 9, "toolConfirmAboveUsd": 0}, "0")])
def test_the_cost_above_which_a_models_council_asks(given: object, above: str) -> None:
    assert read(given).tool_confirm_above == Decimal(above)


@pytest.mark.parametrize("key", ["confirmAboveUsd", "toolConfirmAboveUsd"])
@pytest.mark.parametrize("value", [-1, True, "1", [1], 1e9])
def test_other_values_are_refused_with_their_position(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"runtime-config\.json line 1: council\.{key} must be a number"):
        read({key: value})
