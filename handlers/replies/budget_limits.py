"""Texts about budget limits: which one is reached, when it resets, and what continues anyway."""

from __future__ import annotations

from handlers.context import CommandContext
from handlers.languages import Say
from handlers.replies.costs import dollars
from handlers.replies.duration import format_duration
from routing.errors import Refused
from routing.types.budgets import Ceiling, PayerKind, PeriodKind, Reached, Scope, payer_kind
from routing.types.usage import TurnCost


def cost_of(ask: CommandContext) -> TurnCost:
    """An empty cost record charged to the sender."""
    return TurnCost(ask.person.id, ask.message.chat, payer_of(ask))


def payer_of(ask: CommandContext) -> PayerKind:
    """The kind of budget limit that applies to the sender."""
    return payer_kind(ask.person.role, ask.message.user)


NAMES: dict[tuple[Scope, PeriodKind], str] = {
    ("person", "day"): "your limit of {limit} a day",
    ("person", "month"): "your limit of {limit} a month",
    ("chat", "day"): "this chat's limit of {limit} a day",
    ("chat", "month"): "this chat's limit of {limit} a month",
    ("all", "day"): "the bot's limit of {limit} a day",
    ("all", "month"): "the bot's limit of {limit} a month",
}

NEVER = "💰 This would cost about {needs}, more than {limit} allows. No model was asked."
BUSY = "💰 Answers in progress have reserved the rest of {limit}. No model was asked; try again in a moment."
FULL = (
    "💰 This would cost about {needs} and exceed {limit}: {spent} is already used. No model was asked; the limit "
    "resets in {span}. /budget shows the limits."
)


def refusal(say: Say, reached: Reached, now: float) -> Refused:
    """The refusal for a reached limit, with the time of its reset. `now` is in Unix seconds."""
    template, values = _why(say, reached, now)
    return Refused(template, **values)


def refused(ask: CommandContext, reached: Reached) -> str:
    """The same sentence, in the person's language."""
    template, values = _why(ask.say, reached, ask.message.sent_at)
    return ask.say(template, **values)


def over_budget_notice(ask: CommandContext, reached: Reached, cheapest: bool) -> str:
    """A notice that the answer exceeded a limit. Always shown."""
    limit = _name(ask.say, reached.status.ceiling)
    if cheapest:
        return ask.say("💰 This goes beyond {limit}, so the cheapest model answered.", limit=limit)
    return ask.say("💰 This goes beyond {limit}. /budget shows where you are.", limit=limit)


def _why(say: Say, reached: Reached, now: float) -> tuple[str, dict[str, object]]:
    status = reached.status
    needs = say("price unknown") if reached.needs is None else dollars(reached.needs)
    values: dict[str, object] = {
        "limit": _name(say, status.ceiling),
        "needs": needs,
        "spent": dollars(status.spent),
    }
    if reached.never:
        return NEVER, values
    if reached.busy:
        return BUSY, values
    return FULL, values | {"span": format_duration(status.resets_at - now)}


def _name(say: Say, ceiling: Ceiling) -> str:
    return say(NAMES[ceiling.scope, ceiling.period], limit=dollars(ceiling.dollars))
