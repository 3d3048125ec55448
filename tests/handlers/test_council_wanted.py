"""The arguments of /council before the question: tier and number of members."""

from __future__ import annotations

import pytest

from handlers.council.council import Wanted, read_wanted
from routing.errors import Refused


@pytest.mark.parametrize(
    ("rest", "wanted", "question"),
    [
        ("smart 5 Why?", Wanted("smart", 5), "Why?"),
        ("5 Why?", Wanted(None, 5), "Why?"),
        ("coding Why?", Wanted("coding"), "Why?"),
        ("5 smart Why?", Wanted(None, 5), "smart Why?"),
        ("Smart homes?", Wanted(), "Smart homes?"),
        ("1984 or Dune?", Wanted(), "1984 or Dune?"),
        ("deep\n7", Wanted("deep", 7), ""),
        ("", Wanted(), ""),
    ],
)
def test_tier_and_member_count_precede_the_question(rest: str, wanted: Wanted, question: str) -> None:
    assert read_wanted(rest) == (wanted, question)


@pytest.mark.parametrize("number", ["0", "1", "8", "99"])
def test_an_invalid_member_count_lists_the_valid_ones(number: str) -> None:
    with pytest.raises(Refused, match="has 2 to 7 members"):
        read_wanted(f"smart {number} Why?")
