"""What is decided before each call of a turn, and said in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from routing import dynamic, tiers
from routing.calls import ChatMessage, ToolSpec
from routing.context import Context
from routing.models import Models
from routing.outcome import CallRecord, ToolScope
from routing.prompt import Instructions
from routing.records import HistoryStore, Switches
from routing.skills import Skill, Skills
from routing.turn import Brief
from routing.types import ModelChoice, PersonSettings, Preferences, Question, Tier, TierDecision, TierSwitch
from routing.window import Window

UPGRADED: Tier = "coding"

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which tier, which model, which skill, and why; nothing done."""

    decision: TierDecision
    choice: ModelChoice
    skill: Skill | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What holds for a whole turn: the question, what its person stored, the date where they live."""

    question: Question
    preferences: Preferences
    settings: PersonSettings
    today: str
    owner_instructions: str


def plan(models: Models, skills: Skills, asked: Asked, switches: Switches) -> Plan:
    """The tier by its rules, and the model of that tier."""
    skill = skills.found.get(switches.skill) if switches.skill else None
    decision = tiers.resolve(asked.preferences, asked.question.prefix, tuple(_switches(switches, skill)))
    return Plan(decision, models.choose(decision.tier, asked.preferences), skill)


def _switches(switches: Switches, skill: Skill | None) -> list[TierSwitch]:
    found = []
    if switches.tier is not None:
        found.append(TierSwitch(switches.tier, "conversation", switches.tier_at, "conversation"))
    if skill is not None and skill.model_tier is not None:
        found.append(TierSwitch(skill.model_tier, "skill", switches.skill_at, f"skill '{skill.name}'"))
    return found


class TurnBriefing:
    """`routing.turn.Briefing`: a tool may have switched the tier or the skill; the next call already follows."""

    def __init__(
        self,
        asked: Asked,
        models: Models,
        skills: Callable[[], Skills],
        history: HistoryStore,
        context: Context,
        tools: tuple[ToolSpec, ...],
        calls: list[CallRecord],
    ) -> None:
        self.bounds = models.config.turn
        self.most_result_chars = models.config.most_result_chars
        self.calls = calls
        self._asked = asked
        self._models = models
        self._skills = skills
        self._history = history
        self._context = context
        self._tools = tools
        self._upgraded: TierDecision | None = None
        self._last: Plan | None = None
        self._system = ChatMessage("system", "")

    async def next(self, said: Sequence[ChatMessage], may_call: bool) -> Brief:
        question = self._asked.question
        decided = self._upgrade(await self._plan(), said)
        card = self._models.catalog.lookup(decided.choice.model)
        if self._last is None or self._last.choice.model != decided.choice.model:
            # Otherwise it stays as it was, and the provider's cache of it stays valid.
            self._system = self._instructions(decided, bool(self._tools) and card.supports_tools)
        if self._last is None or self._last.decision != decided.decision:
            evidence = decided.decision.evidence
            log.info("[ContextBuilding] Resolved tier: %s (source: %s)", decided.decision.tier, evidence)
        self._last = decided
        window = Window(card.limit(decided.choice.reasoning), self._models.config.compaction.most_tokens)
        messages, fit = await self._context.prompt(self._system, said, window, card.supports_vision)
        request = self._models.request(decided.decision.tier, decided.choice, messages, self._tools, may_call)
        scope = ToolScope(question.person, question.conversation_id, decided.decision, self._asked.settings.time_zone)
        return Brief(decided.decision, decided.choice, request, scope, fit, window.limit)

    async def shorten(self, window: int) -> None:
        await self._context.shorten(window)

    async def _plan(self) -> Plan:
        switches = await self._history.switches(self._asked.question.conversation_id)
        return plan(self._models, self._skills(), self._asked, switches)

    def _upgrade(self, decided: Plan, said: Sequence[ChatMessage]) -> Plan:
        """Coding activity in this turn lifts it to the coding tier, up to its end."""
        before = decided.decision
        if self._upgraded is None and said:
            signal = dynamic.signal(said)
            if signal and dynamic.upgrades(before.tier, before.source, self._models.config.dynamic_tier):
                log.info("[DynamicTier] Detected coding activity, upgrading tier: %s -> %s", before.tier, UPGRADED)
                self._upgraded = TierDecision(UPGRADED, "dynamic", f"coding activity: {signal}")
        if self._upgraded is None or not dynamic.upgrades(before.tier, before.source, enabled=True):
            return decided
        return Plan(self._upgraded, self._models.choose(UPGRADED, self._asked.preferences), decided.skill)

    def _instructions(self, decided: Plan, has_tools: bool) -> ChatMessage:
        return Instructions(
            owner=self._asked.owner_instructions,
            person=self._asked.settings.instructions,
            today=self._asked.today,
            has_tools=has_tools,
            skill=decided.skill,
            skill_chose_tier=decided.decision.source == "skill",
        ).message()
