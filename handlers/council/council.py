"""Plans, pays for and runs councils, for the command and for the tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import SystemRandom

from handlers.council.replies import names, skipped_members
from handlers.council.sessions import Sessions
from handlers.languages import Say
from handlers.replies.budget_limits import refusal
from routing.budget.guard import BudgetGuard
from routing.budget.reservation import Reservation
from routing.catalog.catalog import Catalog
from routing.config.runtime import RouterConfig
from routing.council.calling import ModelCalls
from routing.council.costs import Estimate, charged, estimate, priced_calls
from routing.council.council import Council
from routing.council.prompts import MAX_QUESTION_CHARACTERS
from routing.council.seats import MAX_SEATS, MIN_SEATS, USUAL_SEATS, Seat, TooFewMembers, members
from routing.council.verdict import Progress, Verdict
from routing.errors import Refused
from routing.llm.attempt import ModelCaller
from routing.policy.models import Models
from routing.ports import Clock
from routing.types.budgets import Price, Reached
from routing.types.decisions import SkippedModel
from routing.types.model_names import provider_of
from routing.types.people import Role
from routing.types.stop import Stop
from routing.types.tiers import TIERS, Tier
from routing.types.usage import TurnCost

ROLE: Role = "user"
"""Minimum role for councils."""
NUMBER = re.compile(r"\d{1,2}")
"""A longer number, such as a year, belongs to the question."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tier whose models come first and the number of members; None means the default."""

    tier: Tier | None = None
    members: int | None = None

    def __str__(self) -> str:
        """The arguments as typed after /council."""
        return " ".join(str(each) for each in (self.tier, self.members) if each is not None)


ANYBODY = Wanted()


def read_wanted(rest: str) -> tuple[Wanted, str]:
    """`smart 5 Why?` → (Wanted("smart", 5), "Why?"). Tiers must be lower case, because "Smart" may start a question.
    Raises Refused for a number out of range."""
    words = rest.split(None, 1)
    tier = next((tier for tier in TIERS if words and tier == words[0]), None)
    if tier is not None:
        rest = words[1] if len(words) > 1 else ""
    words = rest.split(None, 1)
    if not (words and NUMBER.fullmatch(words[0])):
        return Wanted(tier), rest
    return Wanted(tier, _checked(int(words[0]))), words[1] if len(words) > 1 else ""


def _checked(number: int) -> int:
    if not MIN_SEATS <= number <= MAX_SEATS:
        words = (
            "A council has {least} to {most} members, not {n}. No model was asked. Write for example /council {least} "
            "and your question; if the question itself begins with a number, put a word before it."
        )
        raise Refused(words, least=MIN_SEATS, most=MAX_SEATS, n=number)
    return number


@dataclass(frozen=True, slots=True)
class Plan:
    """A council before it runs. `skipped` lists members that are unavailable now. `dollars` is the amount to reserve,
    with the `assumed` price for models of unknown price; None if there is no such price."""

    question: str
    wanted: Wanted
    seats: tuple[Seat, ...]
    skipped: tuple[SkippedModel, ...]
    reckoned: Estimate
    assumed: Price | None
    dollars: Decimal | None

    @property
    def each(self) -> Decimal | None:
        """The expected cost per call, in US dollars."""
        return None if self.dollars is None else self.dollars / self.reckoned.calls

    def needs_confirmation(self, above: Decimal) -> bool:
        """Whether the council may cost more than `above` US dollars, so that the person must confirm it."""
        return self.reckoned.unknown > 0 or self.reckoned.cost > above


class CouncilSessions:
    """`caller` has no budget guard, because the cost of the whole council is reserved at once."""

    def __init__(self, models: Models, caller: ModelCaller, guard: BudgetGuard, clock: Clock) -> None:
        self.models = models
        self.sessions = Sessions(clock)
        self._caller = caller
        self._guard = guard
        self._clock = clock
        self._counted: tuple[RouterConfig, Catalog, bool] | None = None

    def has_members(self) -> bool:
        """Whether enough models have a key, regardless of their health. Called on every turn, so the result is cached
        per configuration."""
        config, catalog, has_key = self.models.config, self.models.catalog, self.models.has_key
        if self._counted is None or self._counted[0] is not config or self._counted[1] is not catalog:
            found = members(config.pools, catalog, lambda model: has_key(provider_of(model)))
            self._counted = config, catalog, not isinstance(found, TooFewMembers)
        return self._counted[2]

    async def plan(self, say: Say, question: str, wanted: Wanted = ANYBODY) -> Plan:
        """Chooses the members and estimates the cost. Raises Refused if the question is too long, or if there are too
        few models or vendors."""
        if len(question) > MAX_QUESTION_CHARACTERS:
            words = (
                "This question is too long for a council: {n} characters, and the limit is {most}. Nothing was asked."
            )
            raise Refused(words, most=MAX_QUESTION_CHARACTERS, n=len(question))
        seats, skipped = self._seats(say, wanted)
        prices, assumed = await self._guard.prices(), self._guard.budget.limits.assumed
        reckoned = estimate(question, seats, prices)
        dollars = estimate(question, seats, prices, assumed).dollars
        return Plan(question, wanted, seats, skipped, reckoned, assumed, dollars)

    async def hold(self, say: Say, plan: Plan, cost: TurnCost, now: float) -> Reservation:
        """Reserves the cost of the council in every limit of the payer. `now` is in Unix seconds. Raises Refused."""
        held = await self._guard.budget.reserve(cost.person_id, cost.chat, plan.dollars, payer=cost.payer)
        if isinstance(held, Reached):
            raise refusal(say, held, now)
        return held

    async def run(
        self, plan: Plan, held: Reservation, cost: TurnCost, stop: Stop, show: Callable[[Progress], None]
    ) -> Verdict:
        """Runs the council. Its calls are charged and added to `cost`, even if it is cancelled."""
        own = TurnCost(cost.person_id, cost.chat, cost.payer)
        ask = ModelCalls(self.models, self._caller, self._clock, own)
        council = Council(plan.question, plan.seats, ask, self._clock, SystemRandom(), show)
        with held:
            try:
                return await council.run(stop)
            finally:
                if own.calls:
                    held.settle(charged(own.calls, plan.assumed, plan.each))
                cost.calls += priced_calls(own.calls, plan.each)
                cost.consulted += len(own.calls)
                cost.over = held.reached or cost.over

    def _seats(self, say: Say, wanted: Wanted) -> tuple[tuple[Seat, ...], tuple[SkippedModel, ...]]:
        pools, catalog = self.models.config.pools, self.models.catalog
        asked, tier = wanted.members or USUAL_SEATS, wanted.tier
        found = members(pools, catalog, lambda model: self.models.obstacle(model, "deep") is None, tier, asked)
        if isinstance(found, TooFewMembers):
            raise self._refusal(say, found)
        everybody = members(pools, catalog, lambda model: True, tier, asked)
        absent = (
            [seat.model for seat in everybody if seat not in found] if not isinstance(everybody, TooFewMembers) else []
        )
        reasons = [each for model in absent if (each := self.models.obstacle(model, "deep")) is not None]
        if wanted.members is not None and len(found) < wanted.members:
            raise self._too_few(say, wanted.members, found, reasons)
        return found, tuple(reasons)

    def _too_few(self, say: Say, asked: int, found: Sequence[Seat], skipped: Iterable[SkippedModel]) -> Refused:
        skipped_names = skipped_members(say, self.models, skipped)
        return Refused(
            "You asked for {asked} members, but only {n} models can take part: {models}. {skipped} No model was asked.",
            asked=asked,
            n=len(found),
            models=names(seat.model for seat in found),
            skipped=say("Skipped: {models}.", models=skipped_names)
            if skipped_names
            else say("The tiers have no more models; the owner can add some to their pools."),
        )

    def _refusal(self, say: Say, missing: TooFewMembers) -> Refused:
        reasons = (self.models.obstacle(model, "deep") for model in missing.skipped)
        skipped = skipped_members(say, self.models, (each for each in reasons if each is not None))
        found = names(seat.model for seat in missing.found) or say("none")
        words = "A council needs at least {least} models from {least} vendors; I can ask {found}. {skipped}"
        rest = say("Skipped: {models}.", models=skipped) if skipped else ""
        return Refused(words, least=MIN_SEATS, found=found, skipped=rest)
