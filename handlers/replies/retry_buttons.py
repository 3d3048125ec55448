"""Buttons below an incomplete or failed answer."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.context import CommandContext
from handlers.languages import Say
from routing.config.contracts import TierContract
from routing.policy.tiers import tiers_for
from routing.types.messages import Button
from routing.types.people import Role
from routing.types.tiers import Tier
from routing.types.turns import Outcome, Question

Rows = tuple[tuple[Button, ...], ...]
UNFINISHED = ("cut", "late", "length")


def buttons(
    ask: CommandContext, question: Question, outcome: Outcome, contracts: Mapping[Tier, TierContract], about: str
) -> Rows:
    """Buttons to continue, retry, or retry on a higher tier. None below a complete answer."""
    completion = outcome.completion
    broken = completion is not None and completion.finish in UNFINISHED and bool(completion.text.strip())
    if completion is not None and not broken and completion.finish not in UNFINISHED:
        return ()
    named = question.prefix is not None or outcome.decision.source == "auto"  # else the tier stays the same anyway
    words = f"!{outcome.decision.tier} {ask.say('go on')}" if named else ask.say("go on")
    first = (Button(ask.say("▶ Continue"), words, about),) if broken else ()
    again = (*first, retry_button(ask, question.prefix, about))
    return (again, *higher(ask.say, outcome.decision.tier, contracts, about, ask.person.role))


def cheaper(ask: CommandContext, tier: Tier | None, prefix: Tier | None, about: str) -> Rows:
    """Buttons below a budget refusal: retry, or ask the best affordable tier."""
    again = (retry_button(ask, prefix, about),)
    if tier is None:
        return (again,)
    return (again, (Button(ask.say("Ask {tier} instead", tier=tier), f"/retry {tier}", about),))


def retry_button(ask: CommandContext, prefix: Tier | None, about: str) -> Button:
    """Asks the same question on the same tier."""
    return Button(ask.say("🔁 Retry"), f"/retry {prefix}" if prefix else "/retry", about)


def higher(say: Say, tier: Tier, contracts: Mapping[Tier, TierContract], about: str, role: Role = "user") -> Rows:
    """A button for the next higher tier that the contract allows. Never offers the coding tier."""
    able = (each for each in tiers_for(role) if each != "coding" and contracts[tier].escalates_to(contracts[each]))
    found = next(able, None)
    if found is None or contracts[found].pool == contracts[tier].pool:
        return ()
    return ((Button(say("🔁 Retry on {tier}", tier=found), f"/retry {found}", about),),)
