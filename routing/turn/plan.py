"""Chooses the tier, skill and model of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from routing.policy import tiers
from routing.policy.models import Models
from routing.tools.offer import ToolOffer
from routing.types.decisions import ModelChoice, TierDecision, TierSwitch
from routing.types.llm import ChatMessage
from routing.types.memory import NOTHING_REMEMBERED, Recollection
from routing.types.people import Preferences
from routing.types.skills import Skill, Skills
from routing.types.tiers import Tier
from routing.types.turns import Question, Switches

SET_TIER, USE_SKILL = "set_tier", "use_skill"
"""Tools that change the settings of a conversation."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen tier, model and skill, with the reasons. `tools` are the tools offered to the model,
    `memory` the facts in its prompt."""

    decision: TierDecision
    choice: ModelChoice
    skill: Skill | None = None
    tools: ToolOffer | None = None
    memory: Recollection = NOTHING_REMEMBERED


def plan(
    models: Models,
    skills: Skills,
    question: Question,
    preferences: Preferences,
    switches: Switches,
) -> Plan:
    """Choose the tier and the skill, then the tier's model."""
    decision, skill = decide(models, skills, question, preferences, switches)
    return Plan(decision, models.choose(decision.tier, preferences), skill)


def decide(
    models: Models,
    skills: Skills,
    question: Question,
    preferences: Preferences,
    switches: Switches,
    auto: TierDecision | None = None,
) -> tuple[TierDecision, Skill | None]:
    """Choose the tier and the skill. A switch never leads from a real model to the small local one."""
    skill = skills.found.get(switches.skill) if switches.skill else None
    role = question.person.role
    usable, default = tiers.tiers_for(role), tiers.default_for(role, models.config.default_tier)
    own = tiers.resolve(preferences, question.prefix, auto=auto, default=default).tier
    able = [
        each
        for each in _switches(switches, skill)
        if each.tier in usable and serves(models, preferences, each.tier, own)
    ]
    return tiers.resolve(preferences, question.prefix, able, auto, default), skill


def in_turn(fixed: Switches, now: Switches, messages: Sequence[ChatMessage]) -> Switches:
    """The settings from before the turn, changed only by tools that the turn itself called. Commands sent during the
    turn don't count."""
    called = {call.name for each in messages for call in each.calls}
    tier, skill = (now if SET_TIER in called else fixed), (now if USE_SKILL in called else fixed)
    return Switches(tier.tier, tier.tier_at, skill.skill, skill.skill_at)


def serves(models: Models, preferences: Preferences, tier: Tier, in_place_of: Tier) -> bool:
    """Whether a switch to this tier is allowed: not from a real model to the small local one."""
    return not models.only_local(tier, preferences) or models.only_local(in_place_of, preferences)


def _switches(switches: Switches, skill: Skill | None) -> list[TierSwitch]:
    found = []
    if switches.tier is not None:
        found.append(TierSwitch(switches.tier, "conversation", switches.tier_at, "conversation"))
    if skill is not None and skill.model_tier is not None:
        found.append(TierSwitch(skill.model_tier, "skill", switches.skill_at, f"skill '{skill.name}'"))
    return found
