"""The estimate before a council starts."""

from __future__ import annotations

from decimal import Decimal

from routing.council.costs import ANSWER_TOKENS, BALLOT_TOKENS, SYNTHESIS_TOKENS, estimate
from routing.council.council import ALL_SECONDS
from routing.types.budgets import Price
from tests.routing.council.members import MOON, SEATS, STAR, SUN

CENT = Decimal("0.01")


class Prices:
    """One cent per call; records the requests."""

    def __init__(self, *unknown: str) -> None:
        self.asked: list[tuple[str, int, int]] = []
        self._unknown = unknown

    def __call__(self, model: str, /) -> Price | None:
        asked = self.asked

        class Cent(Price):
            def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
                asked.append((model, input_tokens, output_tokens))
                return CENT

        return None if model in self._unknown else Cent(())


def test_three_answer_three_rank_and_the_chair_writes() -> None:
    prices = Prices()
    found = estimate("Is it so?", SEATS, prices)
    assert (found.calls, found.seconds, found.cost, found.unknown) == (7, ALL_SECONDS, 7 * CENT, 0)
    assert [(model, out) for model, _, out in prices.asked] == [
        *((model, ANSWER_TOKENS) for model in (SUN, MOON, STAR)),
        *((model, BALLOT_TOKENS) for model in (SUN, MOON, STAR)),
        (SUN, SYNTHESIS_TOKENS),
    ]
    reads = [into for _, into, _ in prices.asked]
    assert all(into < 150 for into in reads[:3])
    assert all(2 * ANSWER_TOKENS < into < 2 * ANSWER_TOKENS + 600 for into in reads[3:6])
    assert 3 * ANSWER_TOKENS < reads[6] < 3 * ANSWER_TOKENS + 600


def test_two_hold_no_vote() -> None:
    assert estimate("Is it so?", SEATS[:2], Prices()).calls == 3


def test_a_long_question_is_read_seven_times() -> None:
    short, long = Prices(), Prices()
    estimate("Is it so?", SEATS, short)
    estimate("Is it so? " * 700, SEATS, long)
    assert all(more[1] - less[1] > 1_900 for less, more in zip(short.asked, long.asked, strict=True))


def test_an_unknown_price_is_counted_and_never_free() -> None:
    found = estimate("Is it so?", SEATS, Prices(SUN))
    assert (found.cost, found.unknown) == (4 * CENT, 3)
    assert estimate("Is it so?", SEATS, Prices(SUN, MOON, STAR)).cost == 0
