"""Who would sit in a council, who can't, and what it would take."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from handlers.asking import Ask
from handlers.council.words import names, passed_over
from routing.council.calling import obstacle
from routing.council.estimates import Estimate
from routing.council.paying import expected, to_hold
from routing.council.seats import LEAST_SEATS, Missing, Seat, members
from routing.decisions import Passed
from routing.errors import Refused
from routing.models.choice import Models
from routing.money.prices import Price
from routing.money.purse import Purse
from routing.ports import Clock


@dataclass(frozen=True, slots=True)
class Plan:
    """Nothing done yet. `passed` would sit if they could be asked; `dollars` are to be held (None: nobody knows),
    reckoned with the `assumed` price where there is no other."""

    question: str
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

    async def plan(self, ask: Ask, question: str) -> Plan:
        """Raises Refused when there are too few models or vendors."""
        seats, passed = self._seats(ask)
        prices, assumed = await self._purse.prices(), self._purse.budget.limits.assumed
        reckoned = expected(question, seats, prices)
        dollars = to_hold(expected(question, seats, prices, assumed))
        return Plan(question, seats, passed, reckoned, assumed, dollars)

    def _seats(self, ask: Ask) -> tuple[tuple[Seat, ...], tuple[Passed, ...]]:
        pools, catalog, now = self._models.config.pools, self._models.catalog, self._clock()
        found = members(pools, catalog, lambda model: obstacle(self._models, model, now) is None)
        if isinstance(found, Missing):
            raise self._refusal(ask, found, now)
        wanted = members(pools, catalog, lambda model: True)
        absent = [seat.model for seat in wanted if seat not in found] if not isinstance(wanted, Missing) else []
        reasons = (obstacle(self._models, model, now) for model in absent)
        return found, tuple(each for each in reasons if each is not None)

    def _refusal(self, ask: Ask, missing: Missing, now: float) -> Refused:
        reasons = (obstacle(self._models, model, now) for model in missing.passed)
        passed = passed_over(ask, self._models, (each for each in reasons if each is not None))
        found = names(seat.model for seat in missing.found) or ask.say("none")
        words = "A council needs {least} models of {least} vendors at least; I can ask {found}. {passed}"
        rest = ask.say("Passed over: {models}.", models=passed) if passed else ""
        return Refused(words, least=LEAST_SEATS, found=found, passed=rest)
