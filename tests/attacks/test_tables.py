"""Accounts cost an attacker nothing: what is remembered of them stays small, and so does what a webhook reads."""

from __future__ import annotations

import json

import pytest

from bot.adapters.telegram.webhook import nesting
from handlers.codes import WRONG_LIMIT, WrongCodes
from handlers.ratelimit import RateLimit, Window
from handlers.recent import MOST, Recent
from routing.errors import Refused
from routing.types import UserKey


def test_a_table_drops_what_is_oldest() -> None:
    table: Recent[int, str] = Recent(2)
    for key in (1, 2, 1, 3):
        table.put(key, str(key))
    assert [table.get(key) for key in (1, 2, 3)] == ["1", None, "3"]


def test_wrong_codes_of_many_accounts_do_not_add_up() -> None:
    wrong = WrongCodes(lambda: 0.0)
    victim = UserKey("telegram", "victim")
    for _ in range(WRONG_LIMIT):
        wrong.count(victim)
    with pytest.raises(Refused, match="Too many wrong codes"):
        wrong.check(victim)
    for number in range(MOST):
        wrong.count(UserKey("telegram", str(number)))
    wrong.check(victim)


def test_a_rate_limit_remembers_the_newest_accounts() -> None:
    limit = RateLimit((Window(1, 60.0),))
    assert limit.take("victim", 0.0)
    with pytest.raises(Refused, match="Too many messages at once"):
        limit.take("victim", 1.0)
    for number in range(MOST):
        assert limit.take(number, 2.0)
    assert limit.take("victim", 3.0)


@pytest.mark.parametrize(
    ("text", "depth"), [("1", 0), ("{}", 1), ('{"a": [[1], {"b": 2}]}', 3), ("[" * 90 + "]" * 90, 90)]
)
def test_how_deep_an_update_goes(text: str, depth: int) -> None:
    assert nesting(json.loads(text)) == depth
