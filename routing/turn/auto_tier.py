"""Chooses the tier of a question for /tier auto."""

from __future__ import annotations

import asyncio

from routing.policy.auto.chooser import default_chooser
from routing.policy.auto.decision import EVIDENCE, decide
from routing.policy.models import Models
from routing.policy.tiers import tiers_for
from routing.ports import HistoryStore
from routing.turn.context import Context
from routing.types.decisions import TierDecision
from routing.types.learning import NOTHING_LEARNED, Learned
from routing.types.people import Preferences
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier
from routing.types.turns import Question

EARLIER_TURNS = 3
"""Number of earlier turns whose tiers count."""


async def choose(
    models: Models,
    history: HistoryStore,
    question: Question,
    preferences: Preferences,
    context: Context,
    learned: Learned = NOTHING_LEARNED,
) -> TierDecision:
    """Return the tier and the reason. A repeated question gets the tier it had the first time, unless something was
    `learned` since. A message that asks to think hard is taken at its word."""
    if not default_chooser.cache_info().currsize:
        await asyncio.to_thread(default_chooser)
    previous = await history.tiers(question.conversation_id, EARLIER_TURNS, question.replaces)
    usable = [each for each in allowed(models, preferences) if each in tiers_for(question.person.role)]
    found = default_chooser().choose(
        question.text,
        previous=previous,
        had_code=previous[-1:] == ("coding",) or "```" in context.last_answer(),
        allowed=usable,
        pictures=len(question.pictures),
    )
    other = learned.tier(found.tier) if "intent" not in found.signals else None
    if other is not None and other[0] in usable:
        found = decide(other[0], ("corrected" if other[1] == "choose" else "disliked",), usable)
    signals = tuple(EVIDENCE[each] for each in found.signals)
    return TierDecision(found.tier, "auto", f"auto: {found.evidence}", signals)


def allowed(models: Models, preferences: Preferences) -> tuple[Tier, ...]:
    """The default tier, and each tier it may escalate to that has its own model."""
    contracts = models.config.contracts
    everyday = contracts[DEFAULT_TIER]
    higher = [tier for tier in TIERS if everyday.escalates_to(contracts[tier])]
    return (DEFAULT_TIER, *(each for each in higher if models.has_model(each, preferences)))
