"""Who would sit in a council, who can't, and what it would take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from handlers.asking import Ask
from handlers.council.words import names, passed_over
from routing.council.calling import obstacle
from routing.council.estimates import Estimate
from routing.council.paying import expected, to_hold
from routing.council.seats import LEAST_SEATS, MOST_SEATS, USUAL_SEATS, Missing, Seat, members
from routing.decisions import Passed
from routing.errors import Refused
from routing.models.choice import Models
from routing.money.prices import Price
from routing.money.purse import Purse
from routing.ports import Clock
from routing.types import TIERS, Tier

NUMBER = re.compile(r"\d{1,2}")
"""A longer number, such as a year, belongs to the question."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whom a person wants to ask: the tier whose models sit first, and how many members; None leaves it to the bot."""

    tier: Tier | None = None
    members: int | None = None

    def __str__(self) -> str:
        """As it is written after /council."""
        return " ".join(str(each) for each in (self.tier, self.members) if each is not None)


ANYBODY = Wanted()


def read_wanted(rest: str) -> tuple[Wanted, str]:
    """`smart 5 Why?` → (Wanted("smart", 5), "Why?"). A tier is in lower case: "Smart" begins a question. Raises Refused
    for a number that no council has."""
    words = rest.split(None, 1)
    tier = next((tier for tier in TIERS if words and tier == words[0]), None)
    if tier is not None:
        rest = words[1] if len(words) > 1 else ""
    words = rest.split(None, 1)
    if not (words and NUMBER.fullmatch(words[0])):
        return Wanted(tier), rest
    return Wanted(tier, _checked(int(words[0]))), words[1] if len(words) > 1 else ""


def _checked(number: int) -> int:
    if not LEAST_SEATS <= number <= MOST_SEATS:
        words = (
            "A council has {least} to {most} members, not {n}. Nobody was asked. Write for example /council {least} "
            "and your question; if the question itself begins with a number, put a word before it."
        )
        raise Refused(words, least=LEAST_SEATS, most=MOST_SEATS, n=number)
    return number


@dataclass(frozen=True, slots=True)
class Plan:
    """Nothing done yet. `passed` would sit if they could be asked; `dollars` are to be held (None: nobody knows),
    reckoned with the `assumed` price where there is no other."""

    question: str
    wanted: Wanted
    seats: tuple[Seat, ...]
    passed: tuple[Passed, ...]
    reckoned: Estimate
    assumed: Price | None
    dollars: Decimal | None

    @property
    def each(self) -> Decimal | None:
        """US dollars that one of its calls is expected to cost."""
        return None if self.dollars is None else self.dollars / self.reckoned.calls

    def needs_a_yes(self, above: Decimal) -> bool:
        """Whether it may cost more than so many US dollars."""
        return self.reckoned.unknown > 0 or self.reckoned.cost > above


class Convening:
    """Decides with the health that the models have now."""

    def __init__(self, models: Models, purse: Purse, clock: Clock) -> None:
        self._models = models
        self._purse = purse
        self._clock = clock

    async def plan(self, ask: Ask, question: str, wanted: Wanted = ANYBODY) -> Plan:
        """Raises Refused when there are too few models or vendors, or fewer models than were asked for."""
        seats, passed = self._seats(ask, wanted)
        prices, assumed = await self._purse.prices(), self._purse.budget.limits.assumed
        reckoned = expected(question, seats, prices)
        dollars = to_hold(expected(question, seats, prices, assumed))
        return Plan(question, wanted, seats, passed, reckoned, assumed, dollars)

    def _seats(self, ask: Ask, wanted: Wanted) -> tuple[tuple[Seat, ...], tuple[Passed, ...]]:
        pools, catalog, now = self._models.config.pools, self._models.catalog, self._clock()
        asked, tier = wanted.members or USUAL_SEATS, wanted.tier
        found = members(pools, catalog, lambda model: obstacle(self._models, model, now) is None, tier, asked)
        if isinstance(found, Missing):
            raise self._refusal(ask, found, now)
        everybody = members(pools, catalog, lambda model: True, tier, asked)
        absent = [seat.model for seat in everybody if seat not in found] if not isinstance(everybody, Missing) else []
        reasons = [each for model in absent if (each := obstacle(self._models, model, now)) is not None]
        if wanted.members is not None and len(found) < wanted.members:
            raise self._too_few(ask, wanted.members, found, reasons)
        return found, tuple(reasons)

    def _too_few(self, ask: Ask, asked: int, found: Sequence[Seat], passed: Iterable[Passed]) -> Refused:
        told = passed_over(ask, self._models, passed)
        return Refused(
            "You asked for {asked} members, but only {n} models can sit: {models}. {passed} Nobody was asked.",
            asked=asked,
            n=len(found),
            models=names(seat.model for seat in found),
            passed=ask.say("Skipped: {models}.", models=told)
            if told
            else ask.say("The tiers have no more models; the owner can add some to their pools."),
        )

    def _refusal(self, ask: Ask, missing: Missing, now: float) -> Refused:
        reasons = (obstacle(self._models, model, now) for model in missing.passed)
        passed = passed_over(ask, self._models, (each for each in reasons if each is not None))
        found = names(seat.model for seat in missing.found) or ask.say("none")
        words = "A council needs {least} models of {least} vendors at least; I can ask {found}. {passed}"
        rest = ask.say("Skipped: {models}.", models=passed) if passed else ""
        return Refused(words, least=LEAST_SEATS, found=found, passed=rest)
