"""The tier chosen for a message, with the reasons."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from routing.types.tiers import DEFAULT_TIER, Tier

Signal = Literal[
    "intent",
    "brief",
    "code",
    "code before",
    "proof",
    "research",
    "mathematics",
    "puzzle",
    "comparison",
    "design",
    "plan",
    "analysis",
    "law",
    "medicine",
    "money",
    "philosophy",
    "long",
    "questions",
    "follow-up",
    "small talk",
    "words",
    "picture",
    "everyday",
    "sounds hard",
    "sounds technical",
    "sounds very hard",
    "corrected",
    "disliked",
]

EVIDENCE: Mapping[Signal, str] = {
    "intent": "asks to think hard",
    "brief": "asks for a short answer",
    "code": "code",
    "code before": "continues the code",
    "proof": "a proof",
    "research": "a research question",
    "mathematics": "mathematics",
    "puzzle": "a puzzle",
    "comparison": "a comparison",
    "design": "a design",
    "plan": "a plan",
    "analysis": "an analysis",
    "law": "a legal question",
    "medicine": "a medical question",
    "money": "a money question",
    "philosophy": "a philosophical question",
    "long": "long",
    "questions": "several questions",
    "follow-up": "continues the conversation",
    "small talk": "thanks or a greeting",
    "words": "about words or a given text",
    "picture": "a picture",
    "everyday": "nothing special",
    "sounds hard": "sounds like a hard question",
    "sounds technical": "sounds like programming",
    "sounds very hard": "sounds like a proof or research",
    "corrected": "you chose it for similar messages",
    "disliked": "you disliked answers to similar messages",
}
MAX_SHOWN_SIGNALS = 3

_INSTEAD: Mapping[Tier, tuple[Tier, ...]] = {
    "balanced": ("balanced", "smart", "coding", "deep"),
    "smart": ("smart", "coding", "balanced", "deep"),
    "coding": ("coding", "smart", "balanced", "deep"),
    "deep": ("deep", "smart", "coding", "balanced"),
}
"""Substitutes for a tier that isn't allowed, best first; more expensive tiers come last."""


@dataclass(frozen=True, slots=True)
class AutoDecision:
    """The best allowed tier; `evidence` describes the `signals` in a short English clause. `unsure`: the message's
    vector could change the tier."""

    tier: Tier
    evidence: str
    signals: tuple[Signal, ...]
    unsure: bool = False


def decide(wanted: Tier, signals: tuple[Signal, ...], allowed: Collection[Tier], unsure: bool = False) -> AutoDecision:
    """The best allowed tier with its reason; the default tier if none is allowed."""
    tier = next((each for each in _INSTEAD[wanted] if each in allowed), DEFAULT_TIER)
    shown = signals[:MAX_SHOWN_SIGNALS] or ("everyday",)
    evidence = ", ".join(EVIDENCE[each] for each in shown)
    if tier != wanted:
        evidence += f"; {wanted} is not allowed"
    return AutoDecision(tier, evidence, shown, unsure)
