"""Which tools a message would bring, and which tier /tier auto would choose for it, and why. Nothing is sent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.page_context import PageContext, signed_in
from handlers.access.roles import NO_PERSON
from handlers.tool_reports.tool_offer import ORDERS, STAGES
from routing.config.presentation import Strategy
from routing.policy.auto.decision import EVIDENCE
from routing.policy.tiers import split_prefix, tiers_for
from routing.tools.offer import ToolOffer, TurnTools
from routing.turn.auto_tier import allowed
from routing.types.people import ROLES, Person, Preferences, Role
from routing.types.tiers import TIERS, Tier

MAX_CHARACTERS = 4_000
NO_CONVERSATION = 0
MAX_LISTED = 12
EXAMPLES = (
    "Will it rain in Rome tomorrow?",
    "Remind me every weekday at 8 to water the plants",
    "Prove that there are infinitely many primes",
    "My Python script raises a KeyError in line 12",
)


@dataclass(frozen=True, slots=True)
class ToolDecision:
    """The tools that a model would see. `others` are toolkits that are not shown, with the probability of their most
    likely tool."""

    offer: ToolOffer
    whole: int
    strategy: Strategy
    order: str
    reasons: tuple[tuple[str, str, float], ...]
    base: tuple[str, ...]
    others: tuple[tuple[str, float], ...]
    full: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TierDecision:
    """What /tier auto would choose, and the model of that tier."""

    tier: Tier
    reasons: tuple[str, ...]
    model: str
    reasoning: str | None


async def playground(context: PageContext) -> Response:
    """The form, and the decisions for a message."""
    text = (context.field("text") if context.request.method == "POST" else context.query("text"))[:MAX_CHARACTERS]
    named = context.field("role") if context.request.method == "POST" else context.query("role")
    role: Role = next((each for each in ROLES if each == named and each != "blocked"), "user")
    chosen = next((each for each in TIERS if each == (context.field("tier") or context.query("tier"))), None)
    tier = tools = None
    if text:
        tier = await _tier(context, text, role)
        tools = await _tools(context, text, role, chosen or tier.tier)
    template = "playground_result.html" if context.is_fragment else "playground.html"
    return context.render(
        template,
        text=text,
        role=role,
        roles=[each for each in ROLES if each != "blocked"],
        tier=tier,
        tools=tools,
        chosen=chosen,
        tiers=TIERS,
        examples=EXAMPLES,
    )


async def _tier(context: PageContext, text: str, role: Role) -> TierDecision:
    models = context.app.engine.models
    prefix, rest = split_prefix(text, tiers_for(role))
    reasons: tuple[str, ...]
    if prefix is not None:
        tier, reasons = prefix, (f"the message begins with !{prefix}",)
    else:
        usable = [each for each in allowed(models, Preferences()) if each in tiers_for(role)]
        found = await context.app.engine.router.auto_tier.decide(rest, usable)
        tier, reasons = found.tier, tuple(EVIDENCE[each] for each in found.signals)
    choice = models.configured(tier, Preferences())
    return TierDecision(tier, reasons, choice.model, choice.reasoning)


async def _tools(context: PageContext, text: str, role: Role, tier: Tier) -> ToolDecision:
    engine = context.app.engine
    person = Person(NO_PERSON, role, "")
    _, text = split_prefix(text, tiers_for(role))
    found = await engine.router.tools(person, NO_CONVERSATION, text)
    choice = engine.models.configured(tier, Preferences())
    shown = found.begin_call(choice.model, engine.models.window(choice.model, choice.reasoning))
    offer = found.offer(choice.model, shown)
    offered = await engine.tooling.toolbox.offered(person)
    active = {each.toolkit for each in found.selection.activated}
    others = [each for each in offered if not each.base and each.name not in active]
    likely = sorted(
        ((each.name, _likely(found, [card.name for card in each.tools])) for each in others), key=lambda each: -each[1]
    )
    strategy = engine.models.config.presentations[offer.size].strategy
    return ToolDecision(
        offer=offer,
        whole=found.whole(choice.model),
        strategy=strategy,
        order=ORDERS[strategy],
        reasons=tuple((each.toolkit, STAGES[each.why], each.score) for each in found.selection.activated),
        base=tuple(each.name for each in offered if each.base and each.name not in active),
        others=tuple(likely[:MAX_LISTED]),
        full=tuple(spec.name for spec in shown.specs if spec.description),
        names=tuple([*(spec.name for spec in shown.specs if not spec.description), *shown.names]),
    )


def _likely(found: TurnTools, names: list[str]) -> float:
    """The probability of the most likely of these tools."""
    odds = max((found.selection.relevance.get(name, -math.inf) for name in names), default=-math.inf)
    return 1 / (1 + math.exp(min(-odds, 700.0)))


ROUTES = (Route("/playground", signed_in(playground), methods=["GET", "POST"]),)
