"""/usage: tokens, cost, limits and tiers of a person; of everyone for owners."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.replies.budget_limits import payer_of
from handlers.replies.charts import usage_chart
from handlers.replies.costs import cost, statuses
from handlers.replies.tier_report import tier_report
from routing.budget.budget import Budget
from routing.errors import Refused
from routing.ports import Clock, PeopleStore, SpendingStore, TurnStore, UsageStore
from routing.types.budgets import days, payer_kind
from routing.types.messages import Picture
from routing.types.usage import MEDIA, Media, PersonSpending, Spending, TierSpending

SPEC = CommandSpec(
    "usage",
    "Tokens and cost of the last 24 hours or more, and how each tier did",
    ("/usage", "/usage 7d", "/usage tiers", "/usage all 30d"),
    choices=(("7d", "30d", "tiers", "all"),),
    personal=True,
)
DAY = 86_400.0
TIER_DAYS = 7
MAX_LISTED = 50
MEDIA_NAMES: Mapping[Media, str] = {"voice": "Voice messages", "speech": "Spoken answers", "image": "Pictures"}
FEWEST_BARS, MOST_BARS = 7, 90
"""Minimum and maximum number of days in the chart."""
_DAYS = re.compile(r"(\d{1,3})d?", re.IGNORECASE)


def build(dependencies: CommandDependencies) -> Handler:
    return UsageCommand(
        dependencies.usage,
        dependencies.spending,
        dependencies.turns,
        dependencies.people,
        dependencies.guard.budget,
        dependencies.clock,
    )


class UsageCommand:
    """Shows the usage of one person or, for owners, of everyone."""

    def __init__(
        self,
        usage: UsageStore,
        spending: SpendingStore,
        turns: TurnStore,
        people: PeopleStore,
        budget: Budget,
        clock: Clock,
    ) -> None:
        self._usage = usage
        self._spending = spending
        self._turns = turns
        self._people = people
        self._budget = budget
        self._clock = clock

    async def __call__(self, ask: CommandContext) -> Reply:
        match [word.lower() for word in ask.arguments]:
            case []:
                return await self._own(ask, 1)
            case ["tiers"]:
                return await self._tiers(ask, TIER_DAYS)
            case ["tiers", word] if count := _count(word):
                return await self._tiers(ask, count)
            case ["all"]:
                return await self._all(ask, 1)
            case ["all", word] if count := _count(word):
                return await self._all(ask, count)
            case [word] if count := _count(word):
                return await self._own(ask, count)
        raise Refused("Write /usage, /usage 7d for seven days, /usage tiers or /usage all 30d.")

    async def _own(self, ask: CommandContext, count: int) -> Reply:
        """Usage by model and tier, and how far the person's limits in this chat are used."""
        since, mine = self._since(count), ask.person.id
        spent = await self._usage.by_model(person_id=mine, since=since)
        limits = " · ".join(statuses(ask.say, await self._budget.statuses(mine, ask.message.chat, payer_of(ask))))
        if not spent:
            return Reply("\n\n".join(filter(None, [ask.say("{when}: nothing yet.", when=_head(ask, count)), limits])))
        tiers = await self._spending.by_tier(since, mine)
        parts = [
            f"**{_head(ask, count)}**",
            "\n".join(f"- `{each.model}`: {spending(ask, [each])}" for each in spent),
            "  \n".join(_tier(ask, each) for each in tiers) if len(tiers) > 1 else "",
            ask.say("Total: {sum}", sum=spending(ask, spent)) if len(spent) > 1 else "",
            limits,
        ]
        return Reply("\n\n".join(filter(None, parts)), picture=await self._picture(ask, count, mine))

    async def _tiers(self, ask: CommandContext, count: int) -> Reply:
        """Turns by tier: everyone's for an owner in private, otherwise the person's own."""
        everyone = ask.person.role == "owner" and ask.message.private
        whose, since = None if everyone else ask.person.id, self._since(count)
        tiers = await self._turns.by_tier(since, person_id=whose)
        when = _head(ask, count)
        head = ask.say("{when}, everyone's turns" if everyone else "{when}, your own turns", when=when)
        if not tiers:
            return Reply(ask.say("{when}: nothing yet.", when=head))
        found = {each.tier: each.spent for each in await self._spending.by_tier(since, whose)}
        media = [f"**{ask.say(MEDIA_NAMES[kind])}**: {spending(ask, [found[kind]])}" for kind in MEDIA if kind in found]
        return Reply("\n\n".join([f"**{head}**", tier_report(ask.say, tiers), *media]))

    async def _all(self, ask: CommandContext, count: int) -> Reply:
        """One row for each of the MAX_LISTED people with the highest cost, with the limits they have reached."""
        if ask.person.role != "owner":
            raise Refused("Only an owner can see everyone's usage. /usage shows yours.")
        if not ask.message.private:
            raise Refused("I don't show other people's usage in a group. Send me /usage all in private.")
        people = await self._spending.by_person(self._since(count))
        head = _head(ask, count)
        if not people:
            return Reply(ask.say("{when}: nothing yet.", when=head))
        rows = await self._rows(ask, people[:MAX_LISTED])
        if len(people) > MAX_LISTED:
            rows.append(f"- {ask.say('{n} more people', n=len(people) - MAX_LISTED)}")
        limits = statuses(ask.say, await self._budget.statuses(ask.person.id, ask.message.chat), "all")
        everyone = [each.spent for each in people]
        whole = ask.say("Total: {sum}", sum=spending(ask, everyone)) if len(people) > 1 else ""
        parts = [f"**{head}**", "\n".join(rows), whole, " · ".join(limits)]
        return Reply("\n\n".join(filter(None, parts)), picture=await self._picture(ask, count, None))

    async def _rows(self, ask: CommandContext, people: Sequence[PersonSpending]) -> list[str]:
        """People without a name are listed by account."""
        everyone = [(person, keys[0]) for person, keys in await self._people.everyone() if keys]
        accounts = {person.id: str(account) for person, account in everyone}
        payers = {person.id: payer_kind(person.role, account) for person, account in everyone}
        rows = []
        for each in people:
            payer = payers.get(each.person_id, "known")
            found = await self._budget.statuses(each.person_id, ask.message.chat, payer)
            reached = [limit for limit in found if not limit.left]
            name = " ".join(each.name.split()).replace("`", "'") or accounts.get(each.person_id, "?")
            line = f"`{name}`: {spending(ask, [each.spent])}"
            rows.append("- " + " · ".join([line, *statuses(ask.say, reached, "person")]))
        return rows

    async def _picture(self, ask: CommandContext, count: int, person_id: int | None) -> Picture | None:
        """A chart with one bar per day, using the days of the limits; None if there was no usage."""
        count = min(max(count, FEWEST_BARS), MOST_BARS)
        stretches = days(self._clock(), count, self._budget.limits.zone)
        found = await self._spending.by_day(stretches, person_id)
        if not any(day.models for day in found):
            return None
        return Picture(f"usage-{count}d.png", await asyncio.to_thread(usage_chart, found, ask.say))

    def _since(self, count: int) -> float:
        return self._clock() - count * DAY


def _count(word: str) -> int:
    """`7d` is 7; 0 if the word is not a number of days."""
    found = _DAYS.fullmatch(word)
    return int(found.group(1)) if found else 0


def _head(ask: CommandContext, count: int) -> str:
    return ask.say("Last {hours} hours", hours=24) if count == 1 else ask.say("Last {days} days", days=count)


def _tier(ask: CommandContext, each: TierSpending) -> str:
    name = next((ask.say(MEDIA_NAMES[kind]) for kind in MEDIA if kind == each.tier), each.tier)
    return f"{name}: {calls(ask, each.spent.calls)} · {money(ask, [each.spent])}"


def calls(ask: CommandContext, n: int) -> str:
    return ask.say("1 call") if n == 1 else ask.say("{n} calls", n=n)


def spending(ask: CommandContext, spent: Sequence[Spending]) -> str:
    """`3 calls · 1,200 in (400 cached) / 300 out · $0.0042`."""
    many = calls(ask, sum(each.calls for each in spent))
    into = sum(each.input_tokens for each in spent)
    out = sum(each.output_tokens for each in spent)
    cached = sum(each.cached_tokens for each in spent)
    words = "{into} in ({cached} cached) / {out} out" if cached else "{into} in / {out} out"
    return f"{many} · {ask.say(words, into=into, cached=cached, out=out)} · {money(ask, spent)}"


def money(ask: CommandContext, spent: Sequence[Spending]) -> str:
    """The cost in US dollars. Unknown prices are mentioned."""
    calls, unknown = sum(each.calls for each in spent), sum(each.unknown for each in spent)
    return cost(ask.say, sum((each.cost for each in spent), Decimal(0)), unknown, bool(unknown) and unknown == calls)
