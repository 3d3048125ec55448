"""/usage: tokens and money."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.needs import Needs
from routing.errors import Refused
from routing.ports import Clock
from routing.records import Spending, UsageStore

SPEC = CommandSpec(
    "usage",
    "Tokens and cost of the last 24 hours, or of more days",
    ("/usage", "/usage 7d"),
    choices=(("7d", "30d"),),
    personal=True,
)
DAY = 86_400.0
_DAYS = re.compile(r"(\d{1,3})d?", re.IGNORECASE)


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return UsageCommand(needs.usage, needs.clock)


class UsageCommand:
    """What this person used, by model."""

    def __init__(self, usage: UsageStore, clock: Clock) -> None:
        self._usage = usage
        self._clock = clock

    async def __call__(self, ask: Ask) -> Reply:
        days = 1
        if ask.arguments:
            found = _DAYS.fullmatch(ask.arguments[0])
            if found is None or not int(found.group(1)):
                raise Refused("Write /usage, or /usage 7d for seven days.")
            days = int(found.group(1))
        spent = await self._usage.by_model(person_id=ask.person.id, since=self._clock() - days * DAY)
        head = ask.say("Last {hours} hours", hours=24 * days) if days == 1 else ask.say("Last {days} days", days=days)
        if not spent:
            return Reply(ask.say("{when}: nothing yet.", when=head))
        lines = [f"**{head}**", "", *(f"- `{each.model}`: {spending(ask, [each])}" for each in spent)]
        lines += ["", ask.say("In all: {sum}", sum=spending(ask, spent))]
        return Reply("\n".join(lines))


def spending(ask: Ask, spent: Sequence[Spending]) -> str:
    """`3×, 1200 + 300 tokens, $0.0042`; what has no price is counted, not called free."""
    calls = sum(each.calls for each in spent)
    into = sum(each.input_tokens for each in spent)
    out = sum(each.output_tokens for each in spent)
    cached = sum(each.cached_tokens for each in spent)
    words = ask.say("{calls}×, {into} + {out} tokens", calls=calls, into=into, out=out)
    if cached:
        words += ask.say(" ({cached} cached)", cached=cached)
    return f"{words}, {money(ask, spent)}"


def money(ask: Ask, spent: Sequence[Spending]) -> str:
    """US dollars; unknown prices are said to be unknown."""
    unknown = sum(each.unknown for each in spent)
    calls = sum(each.calls for each in spent)
    if unknown and unknown == calls:
        return ask.say("price unknown")
    total = f"${sum((each.cost for each in spent), Decimal(0)):.4f}"
    return total + (ask.say(" and {n}× of unknown price", n=unknown) if unknown else "")
