"""The section `budget` of runtime-config.json: valid values, and errors for invalid ones."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from routing.config import jsonfile
from routing.config.jsonfile import JsonObject
from routing.config.sections import BUDGET_KEYS, GUEST_DOLLARS, read_budget
from routing.errors import ConfigError
from routing.types.budgets import BudgetLimits, Ceiling, PersonLimits, Price, payer_kind
from routing.types.messages import UserKey

ALL_KEYS = {
    "perUserDailyUsd": 0.1, "perUserMonthlyUsd": 2, "perChatDailyUsd": 3.0, "perChatMonthlyUsd": 4,
    "totalDailyUsd": 5, "totalMonthlyUsd": 6, "atLimit": "cheapest", "assumeUnknownUsdPerMillion": 2.5,
    "timeZone": "Europe/Berlin", "perGuestDailyUsd": 0.05,
}  # fmt: skip
LIMIT_KEYS = [key for key in ALL_KEYS if key.endswith("Usd")]


def read(budget: object) -> BudgetLimits:
    file = jsonfile.parse(json.dumps({"budget": budget}, indent=1), "runtime-config.json")
    return read_budget(file.root().child("budget") or JsonObject(file, ("budget",), {}))


def test_nothing_is_limited_by_default() -> None:
    limits = read({})
    assert (dict(limits.dollars), limits.at_limit, limits.zone.key) == ({}, "refuse", "UTC")
    assert limits.assumed == Price.flat(Decimal(10)), "an unknown price is not free"
    assert limits.ceilings(PersonLimits()) == ()
    assert limits == replace(read(dict.fromkeys(LIMIT_KEYS)), guest=GUEST_DOLLARS)


def test_guests_have_a_default_limit_that_the_owner_can_remove() -> None:
    assert read({}).ceilings(PersonLimits(), "guest") == (Ceiling("person", "day", GUEST_DOLLARS),)
    assert read({"perUserDailyUsd": 9}).ceilings(PersonLimits(), "channel")[0].dollars == GUEST_DOLLARS
    assert read({"perUserDailyUsd": 0.1}).ceilings(PersonLimits(), "guest")[0].dollars == Decimal("0.1")
    assert read({}).ceilings(PersonLimits(daily=Decimal(5)), "guest")[0].dollars == 5
    assert read({"perGuestDailyUsd": None}).ceilings(PersonLimits(), "guest") == ()
    channel, guest = UserKey("telegram", "-1001"), UserKey("telegram", "7")
    assert [payer_kind("guest", channel), payer_kind("guest", guest), payer_kind("user", channel)] == [
        "channel", "guest", "known",
    ]  # fmt: skip


def test_every_key_is_read() -> None:
    assert set(ALL_KEYS) == set(BUDGET_KEYS)
    limits = read(ALL_KEYS)
    assert limits.guest == Decimal("0.05")
    assert [(each.scope, each.period, each.dollars) for each in limits.ceilings(PersonLimits())] == [
        ("person", "day", Decimal("0.1")), ("person", "month", 2), ("chat", "day", 3), ("chat", "month", 4),
        ("all", "day", 5), ("all", "month", 6),
    ]  # fmt: skip
    assert limits.at_limit == "cheapest"
    assert limits.zone.key == "Europe/Berlin"
    assert limits.assumed is not None
    assert limits.assumed.cost(1_000_000, 0) == Decimal("2.5")


def test_a_persons_limit_replaces_the_general_one() -> None:
    limits = read({"perUserDailyUsd": 1, "totalDailyUsd": 9})
    assert limits.ceilings(PersonLimits(daily=Decimal(5))) == (
        Ceiling("person", "day", Decimal(5), own=True), Ceiling("all", "day", Decimal(9)),
    )  # fmt: skip
    assert limits.ceilings(PersonLimits(monthly=Decimal(0)))[:2] == (
        Ceiling("person", "day", Decimal(1)), Ceiling("person", "month", Decimal(0), own=True),
    )  # fmt: skip


@pytest.mark.parametrize("key", [*LIMIT_KEYS, "assumeUnknownUsdPerMillion"])
@pytest.mark.parametrize("value", ["1", True, 0, -1, [1], {}, 1e7])
def test_an_invalid_amount_is_refused_with_its_line(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        read({"atLimit": "warn", key: value})
    assert str(caught.value).startswith(f"runtime-config.json line 4: budget.{key} must be a number above 0")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"atLimit": "Refuse"}, "line 3: budget.atLimit must be one of refuse, cheapest, warn"),
        ({"atLimit": None}, "line 3: budget.atLimit must be one of refuse, cheapest, warn"),
        ({"timeZone": "Berlin"}, "line 3: budget.timeZone must be a time zone"),
        ({"timeZone": "../etc/passwd"}, "line 3: budget.timeZone must be a time zone"),
        ({"timeZone": "Europe"}, "line 3: budget.timeZone must be a time zone"),
        ({"timeZone": 1}, "line 3: budget.timeZone must be a non-empty string"),
    ],
)
def test_other_wrong_values(body: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.")):
        read(body)
