"""US dollars in words."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from handlers.languages import Say
from routing.money.limits import Scope
from routing.money.standing import Standing


def cost(say: Say, known: Decimal, unknown: int, nothing_known: bool) -> str:
    """`$0.0042 and 2× of unknown price`: what has no price is counted, not called free."""
    if nothing_known:
        return say("price unknown")
    return f"${known:.4f}" + (say(" and {n}× of unknown price", n=unknown) if unknown else "")


def dollars(amount: Decimal) -> str:
    """`$2.00`, `$0.0042`: below a dollar as exactly as it is worth knowing."""
    exact = 4 if amount < 1 and amount != round(amount, 2) else 2
    return f"${amount:.{exact}f}"


def standings(say: Say, found: Iterable[Standing], *scopes: Scope) -> list[str]:
    """How far these limits are used, one line each; `scopes`: only those of."""
    return [standing(say, each) for each in found if not scopes or each.ceiling.scope in scopes]


def standing(say: Say, each: Standing) -> str:
    """`Today: $0.12 of $2.00`, with a mark where nothing is left."""
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
    said = say(words, spent=dollars(each.spent), limit=dollars(each.ceiling.dollars))
    if each.unknown:
        said += say(" and {n}× of unknown price", n=each.unknown)
    return said if each.left else f"⚠️ {said}"
