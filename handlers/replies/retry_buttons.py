"""What a person may press below an answer that is not what it should be."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.context import CommandContext
from handlers.languages import Say
from routing.config.contracts import TierContract
from routing.policy.tiers import open_to
from routing.types.messages import Button
from routing.types.people import Role
from routing.types.tiers import Tier
from routing.types.turns import Outcome, Question

Rows = tuple[tuple[Button, ...], ...]
UNFINISHED = ("cut", "late", "length")


def buttons(
    ask: CommandContext, question: Question, outcome: Outcome, contracts: Mapping[Tier, TierContract], about: str
) -> Rows:
    """Continue what broke off, ask again, ask a higher tier; none below a whole answer."""
    completion = outcome.completion
    broken = completion is not None and completion.finish in UNFINISHED and bool(completion.text.strip())
    if completion is not None and not broken and completion.finish not in UNFINISHED:
        return ()
    named = question.prefix is not None or outcome.decision.source == "auto"  # else the next one resolves alike
    words = f"!{outcome.decision.tier} {ask.say('go on')}" if named else ask.say("go on")
    first = (Button(ask.say("▶ Continue"), words, about),) if broken else ()
    again = (*first, retry_button(ask, question.prefix, about))
    return (again, *higher(ask.say, outcome.decision.tier, contracts, about, ask.person.role))


def cheaper(ask: CommandContext, tier: Tier | None, prefix: Tier | None, about: str) -> Rows:
    """Below a refusal for want of money: the same again, and the best tier that there is money for."""
    again = (retry_button(ask, prefix, about),)
    if tier is None:
        return (again,)
    return (again, (Button(ask.say("Ask {tier} instead", tier=tier), f"/retry {tier}", about),))


def retry_button(ask: CommandContext, prefix: Tier | None, about: str) -> Button:
    """The same question, of the same tier."""
    return Button(ask.say("🔁 Retry"), f"/retry {prefix}" if prefix else "/retry", about)


def higher(say: Say, tier: Tier, contracts: Mapping[Tier, TierContract], about: str, role: Role = "user") -> Rows:
    """The next tier up that the contracts let a question be taken to; coding is for code."""
    able = (each for each in open_to(role) if each != "coding" and contracts[tier].escalates_to(contracts[each]))
    found = next(able, None)
    if found is None or contracts[found].pool == contracts[tier].pool:
        return ()
    return ((Button(say("🔁 Retry on {tier}", tier=found), f"/retry {found}", about),),)
