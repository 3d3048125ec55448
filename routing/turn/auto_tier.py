"""What /tier auto chooses for a question, among the tiers that it may take it to."""

from __future__ import annotations

import asyncio

from routing.policy import auto
from routing.policy.auto.decision import EVIDENCE
from routing.policy.models import Models
from routing.policy.tiers import open_to
from routing.ports import HistoryStore
from routing.turn.context import Context
from routing.types.decisions import TierDecision
from routing.types.people import Preferences
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier
from routing.types.turns import Question

EARLIER = 3
"""Turns whose tiers are looked at."""


async def choose(
    models: Models, history: HistoryStore, question: Question, preferences: Preferences, context: Context
) -> TierDecision:
    """The tier with its reason. What is asked again is judged as it was the first time."""
    if not auto.loaded():  # nobody who never asks for it pays for it
        await asyncio.to_thread(auto.load)
    previous = await history.tiers(question.conversation_id, EARLIER, question.replaces)
    found = auto.choose(
        question.text,
        previous=previous,
        had_code=previous[-1:] == ("coding",) or "```" in context.last_answer(),
        allowed=[each for each in allowed(models, preferences) if each in open_to(question.person.role)],
        pictures=len(question.pictures),
    )
    signals = tuple(EVIDENCE[each] for each in found.signals)
    return TierDecision(found.tier, "auto", f"auto: {found.evidence}", signals)


def allowed(models: Models, preferences: Preferences) -> tuple[Tier, ...]:
    """The everyday tier, and the tiers that it may escalate to and that have a model of their own: not a stand-in."""
    contracts = models.config.contracts
    everyday = contracts[DEFAULT_TIER]
    higher = [tier for tier in TIERS if everyday.escalates_to(contracts[tier])]
    return (DEFAULT_TIER, *(each for each in higher if models.has_model(each, preferences)))
