"""Plans one call of a turn: its tier, model, prompt and tools."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from routing.config.skills import catalogue
from routing.policy import escalation, tiers
from routing.policy.candidates import Needs
from routing.policy.cheapest import cheapest
from routing.tools.presentation import Shown
from routing.turn.context_window import Window
from routing.turn.plan import Plan, decide, in_turn, serves
from routing.turn.state import CallPlan, TurnInput, TurnState
from routing.turn.system_prompt import Instructions
from routing.types.budgets import BudgetExceeded
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import ChatMessage
from routing.types.skills import Skill
from routing.types.tiers import Tier
from routing.types.tokens import estimate
from routing.types.tools import ToolScope

ESCALATED: Tier = "coding"
MIN_ANSWER = 256
"""Minimum output limit of a request, in tokens. The provider decides whether it fits."""

log = logging.getLogger("routing")


async def plan_call(turn: TurnInput, state: TurnState) -> CallPlan:
    """The next call, also recorded in `state`. A tool may have switched the tier or the skill; an earlier failure may
    have excluded models. Raises BudgetExceeded if the cheapest model should answer and no price is known."""
    await state.shorten_context()
    models = turn.models
    decision, skill = await _tier(turn, state)
    decision = _escalated(turn, state, decision)
    choice = await _model(turn, state, decision.tier)
    model = choice.model
    usual = models.config.contracts[decision.tier]
    contract = models.health.pace.contract(usual, model, state.bounds.seconds)
    state.deadline.allow(min(contract.deadline_seconds, state.bounds.seconds))
    window = Window(models.window(model, choice.reasoning), models.config.compaction.most_tokens)
    shown = state.tools.begin_call(model, window.limit)
    tiny = models.catalog.lookup(model).tiny
    memory = replace(turn.memory, used=()) if tiny else turn.memory
    decided = Plan(decision, choice, skill, state.tools.offer(model, shown), memory)
    system = _system(turn, state, decided, shown, window.limit)
    if state.plan is None or state.plan.decision != decision:
        log.info("[ContextBuilding] Resolved tier: %s (source: %s)", decision.tier, decision.evidence)
    vision = models.catalog.lookup(model).supports_vision
    messages, fit = await state.context.prompt(system, state.prompt(), window, vision)
    request = models.request(
        decision.tier,
        choice,
        messages,
        shown.specs,
        state.may_call_tools,
        room=max(MIN_ANSWER, window.limit - fit.tokens),
    )
    state.record_plan(turn.question.conversation_id, decided)
    widest = max((models.window(each, None) for each in choice.fallbacks), default=0)
    scope = _scope(turn, state, decided)
    return CallPlan(decision, contract, choice, request, scope, fit, window.limit, widest)


async def _tier(turn: TurnInput, state: TurnState) -> tuple[TierDecision, Skill | None]:
    question = turn.question
    switches = await state.context.switches()
    if question.fixed is not None:
        switches = in_turn(question.fixed.switches, switches, state.messages)
    return decide(turn.models, turn.skills, question, turn.preferences, switches, turn.auto)


def _escalated(turn: TurnInput, state: TurnState, before: TierDecision) -> TierDecision:
    """Work on code lifts the rest of the turn to the coding tier."""
    if (
        state.escalated is None
        and state.messages
        and escalation.upgrades(before.tier, before.source, turn.models.config.dynamic_tier)
        and serves(turn.models, turn.preferences, ESCALATED, before.tier)
        and escalation.signal(_without_calls(state.messages, state.unknown_calls))
    ):
        log.info("[DynamicTier] Detected coding activity, upgrading tier: %s -> %s", before.tier, ESCALATED)
        state.escalate(TierDecision(ESCALATED, "dynamic", "coding activity"))
    if state.escalated is None or not escalation.upgrades(before.tier, before.source, enabled=True):
        return before
    return state.escalated


def _without_calls(messages: Sequence[ChatMessage], ids: set[str]) -> Sequence[ChatMessage]:
    if not ids:
        return messages
    return [replace(each, calls=tuple(call for call in each.calls if call.id not in ids)) for each in messages]


async def _model(turn: TurnInput, state: TurnState, tier: Tier) -> ModelChoice:
    """The model that can take this call and has not failed in this turn."""
    question, models, cost = turn.question, turn.models, state.cost
    needs = Needs(
        vision=bool(question.pictures),
        tools=state.tools.needed or any(each.calls for each in state.messages),
        tokens=max(state.above + 1, int(estimate([ChatMessage("user", question.text)]))),
    )
    choice = models.choose(tier, turn.preferences, needs, state.excluded)
    if not cost.cheapest or cost.over is None:
        return choice
    cheap = cheapest(models, turn.preferences, needs, state.excluded, await turn.prices())
    if cheap is None:
        raise BudgetExceeded(choice.model, cost.over)
    return cheap


def _system(turn: TurnInput, state: TurnState, decided: Plan, shown: Shown, window: int) -> ChatMessage:
    """The system message; the same text while the model stays the same, so that the provider's cache stays valid."""
    model = decided.choice.model
    if state.system is not None and state.system[0] == (model, window):
        return state.system[1]
    log.info("[ToolRouter] %s", decided.tools)
    message = Instructions(
        owner=turn.owner_instructions,
        person=turn.settings.instructions,
        today=turn.today,
        tools=shown.hint,
        has_tools=bool(shown.specs),
        skills=catalogue(turn.skills) if shown.specs else "",
        skill=decided.skill,
        skill_chose_tier=decided.decision.source == "skill",
        tiny=turn.models.catalog.lookup(model).tiny,
        facts=tuple(each.text for each in decided.memory.used),
    ).message()
    state.keep_system(model, window, message)
    return message


def _scope(turn: TurnInput, state: TurnState, decided: Plan) -> ToolScope:
    """What the tools of this call get to know."""
    tier, question = decided.decision.tier, turn.question
    usable = tiers.tiers_for(question.person.role)
    return ToolScope(
        question.person,
        question.conversation_id,
        decided.decision,
        turn.settings.time_zone,
        tuple(each for each in usable if serves(turn.models, turn.preferences, each, tier)),
        turn.models.size(decided.choice.model).size,
        language=question.language,
        cost=state.cost,
        attach=question.attach,
        private=question.private,
        outside=state.outside_sources,
        scheduled=question.scheduled,
    )
