"""Formats US dollars and budgets."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from handlers.languages import Dollars, Say
from routing.types.budgets import BudgetStatus, Scope


def cost(say: Say, known: Decimal, unknown: int, nothing_known: bool) -> str:
    """`$0.24 (2 unpriced)`. Calls of unknown price are counted, not treated as free."""
    if nothing_known:
        return say("price unknown")
    return say.number(Dollars(known)) + unpriced(say, unknown)


def unpriced(say: Say, calls: int) -> str:
    """` (2 unpriced)`, or nothing."""
    if not calls:
        return ""
    return " " + (say("(one unpriced)") if calls == 1 else say("({n} unpriced)", n=calls))


def dollars(amount: Decimal) -> Dollars:
    """`$2.00`, `$0.0042`, in the language of the sentence that contains it."""
    return Dollars(amount)


def statuses(say: Say, found: Iterable[BudgetStatus], *scopes: Scope) -> list[str]:
    """How far these limits are used, one line each. `scopes` restricts the lines to those scopes."""
    return [status(say, each) for each in found if not scopes or each.ceiling.scope in scopes]


def status(say: Say, each: BudgetStatus) -> str:
    """`Today: $0.12 of $2.00`, with a mark if nothing is left."""
    match each.ceiling.scope, each.ceiling.period:
        case "person", "day":
            words = "Today: {spent} of {limit}"
        case "person", "month":
            words = "This month: {spent} of {limit}"
        case "chat", "day":
            words = "This chat today: {spent} of {limit}"
        case "chat", "month":
            words = "This chat this month: {spent} of {limit}"
        case "all", "day":
            words = "Everyone today: {spent} of {limit}"
        case _:
            words = "Everyone this month: {spent} of {limit}"
    text = say(words, spent=dollars(each.spent), limit=dollars(each.ceiling.dollars))
    text += unpriced(say, each.unknown)
    return text if each.left else f"⚠️ {text}"
