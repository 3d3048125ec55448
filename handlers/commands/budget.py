"""/budget: spending limits and what is left of them. Owners set personal limits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from handlers.access.roles import may
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.parsing import parse_account
from handlers.replies.budget_limits import payer_of
from handlers.replies.costs import dollars, status
from handlers.replies.duration import format_duration
from routing.budget.budget import Budget
from routing.config.kinds import MAX_DOLLARS
from routing.errors import Refused
from routing.ports import Clock, PeopleStore
from routing.types.budgets import AtLimit, PersonLimits, payer_kind
from routing.types.messages import UserKey
from routing.types.people import Person

SPEC = CommandSpec(
    "budget",
    "Your spending limits and what is left of them",
    ("/budget", "/budget telegram:123 2.50 30", "/budget telegram:123 off"),
    personal=True,
)
OFF = "off"
THEN: dict[AtLimit, str] = {
    "refuse": "When a limit is reached, no model is asked until it resets.",
    "cheapest": "When a limit is reached, the cheapest model answers and says so.",
    "warn": "When a limit is reached, answers go on with a warning.",
}


def build(dependencies: CommandDependencies) -> Handler:
    return BudgetCommand(dependencies.guard.budget, dependencies.people, dependencies.clock)


class BudgetCommand:
    """Shows people their own limits. Owners see and set everyone's."""

    def __init__(self, budget: Budget, people: PeopleStore, clock: Clock) -> None:
        self._budget = budget
        self._people = people
        self._clock = clock

    async def __call__(self, ask: CommandContext) -> Reply:
        if not ask.arguments:
            return await self._show(ask, ask.person, ask.message.user, ask.say("What you may spend here"))
        if not may(ask.person, "owner"):
            raise Refused("Only an owner can see and set other people's limits. /budget shows yours.")
        whom, *words = ask.arguments
        user = parse_account(whom)
        person = await self._people.find(user)
        if person is None:
            raise Refused("I don't know {user}. Nothing was changed.", user=user)
        if words:
            await self._set(ask, person, words)
        return await self._show(ask, person, user, ask.say("What {name} may spend here", name=f"`{user}`"))

    async def _show(self, ask: CommandContext, person: Person, user: UserKey, head: str) -> Reply:
        payer = payer_of(ask) if person.id == ask.person.id else payer_kind(person.role, user)
        found = await self._budget.statuses(person.id, ask.message.chat, payer)
        if not found:
            return Reply(ask.say("{head}: there is no limit.", head=head))
        lines = []
        for each in found:
            opens = ask.say("{left} left, resets in {span}", left=dollars(each.left), span=self._span(each.resets_at))
            own = ask.say(", personal limit") if each.ceiling.own and person.id != ask.person.id else ""
            lines.append(f"- {status(ask.say, each)} ({opens}{own})")
        notes = [ask.say(THEN[self._budget.limits.at_limit])]
        rate = self._budget.limits.unknown
        if any(each.unknown for each in found) and rate is not None:
            notes.append(ask.say("Calls with an unknown price count as {rate} per million tokens.", rate=dollars(rate)))
        return Reply("\n".join([f"**{head}**", "", *lines, "", "  \n".join(notes)]))

    def _span(self, at: float) -> str:
        return format_duration(at - self._clock())

    async def _set(self, ask: CommandContext, person: Person, words: Sequence[str]) -> None:
        match [word.lower() for word in words]:
            case ["off"]:
                limits = PersonLimits()
            case [daily]:
                limits = PersonLimits(_amount(daily), (await self._budget.limits_of(person.id)).monthly)
            case [daily, monthly]:
                limits = PersonLimits(_amount(daily), _amount(monthly))
            case _:
                raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage))
        await self._budget.set_limits(person.id, limits, str(ask.message.user))


def _amount(word: str) -> Decimal | None:
    """Parses US dollars; `off` means no personal limit. Raises Refused."""
    if word == OFF:
        return None
    try:
        amount = Decimal(word.removeprefix("$").replace(",", "."))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 < amount <= MAX_DOLLARS:
        words = "A limit is a number of US dollars above 0, such as 2.50, or off; not {word}. Nothing was changed."
        raise Refused(words, word=word)
    return amount
