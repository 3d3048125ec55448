"""Renders a tier's contract: skipped models, time limits, cost."""

from __future__ import annotations

from handlers.context import CommandContext
from handlers.replies.costs import dollars
from handlers.replies.duration import format_duration
from handlers.replies.footer import PASSED
from routing.budget.guard import BudgetGuard
from routing.config.contracts import TierContract, single_vendor_pools
from routing.policy.models import Models
from routing.ports import Clock
from routing.turn.plan import Plan
from routing.types.budgets import MILLION, Price
from routing.types.model_names import provider_of


class ContractView:
    """The contract lines of /tier and /status."""

    def __init__(self, models: Models, guard: BudgetGuard, clock: Clock) -> None:
        self._models = models
        self._guard = guard
        self._clock = clock

    async def lines(self, ask: CommandContext, plan: Plan) -> list[str]:
        """The contract of the plan. Models without a key are listed elsewhere."""
        usual, most = self._models.config.contracts[plan.decision.tier], self._models.config.turn.seconds
        contract = self._models.health.pace.contract(usual, plan.choice.model, most)
        price = (await self._guard.prices())(plan.choice.model)
        seconds = min(contract.deadline_seconds, self._models.config.turn.seconds)
        return [
            *self._passed(ask, plan),
            *self._level(ask, plan),
            *_vendor(ask, contract),
            _times(ask, contract, seconds),
            _price(ask, price),
        ]

    def _level(self, ask: CommandContext, plan: Plan) -> list[str]:
        """A notice about a configured reasoning level that has no effect."""
        ignored = self._models.ignored_level(plan.decision.tier)
        if ignored is None:
            return []
        model = f"`{ignored.model}`"
        if not ignored.levels:
            words = "⚠️ The reasoning level {level} is not sent: {model} is not known to take one."
            return [ask.say(words, level=ignored.level, model=model)]
        words = "⚠️ {model} has no reasoning level {level}. It has: {levels}."
        return [ask.say(words, level=ignored.level, model=model, levels=", ".join(ignored.levels))]

    def _passed(self, ask: CommandContext, plan: Plan) -> list[str]:
        """The models that are skipped now, why, and for how long."""
        lines = []
        for each in plan.choice.skipped:
            if each.why == "key":
                continue
            variable = self._models.config.profile(provider_of(each.model)).variable
            reason = ask.say(PASSED[each.why], variable=variable, reason=each.reason)
            if each.until is None:
                lines.append(ask.say("⚠️ Skipped: {model} {reason}.", model=f"`{each.model}`", reason=reason))
                continue
            words = "⚠️ Skipped for {span}: {model} {reason}."
            left = format_duration(each.until - self._clock())
            lines.append(ask.say(words, model=f"`{each.model}`", reason=reason, span=left))
        return lines


def _vendor(ask: CommandContext, contract: TierContract) -> list[str]:
    words = "Only one provider here ({vendor}): if it fails, nothing can step in."
    return [ask.say(words, vendor=vendor) for vendor in single_vendor_pools([contract]).values()]


def _times(ask: CommandContext, contract: TierContract, seconds: float) -> str:
    words = "Time limit {deadline:g} s (first words within {first:g} s), up to {tries} tries."
    first = min(contract.first_token_seconds, seconds)
    return ask.say(words, deadline=seconds, first=first, tries=contract.attempts)


def _price(ask: CommandContext, price: Price | None) -> str:
    if price is None:
        return ask.say("Price: unknown.")
    rates = price.rates[0]
    into, out = rates.input * MILLION, rates.output * MILLION
    if not into and not out:
        return ask.say("Price: free, it runs on this machine.")
    return ask.say("Price per million tokens: {into} in, {out} out.", into=dollars(into), out=dollars(out))
