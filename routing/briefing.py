"""What is decided before each call of a turn, and said in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from routing import dynamic, tiers
from routing.calls import ChatMessage
from routing.conversation.context import Context
from routing.conversation.window import Window
from routing.deadline import Deadline
from routing.decisions import ModelChoice, TierDecision, TierSwitch
from routing.failover.candidates import Needs
from routing.models.choice import Models
from routing.money.bill import Bill
from routing.outcome import NO_TOOL, ToolScope
from routing.prompt import Instructions
from routing.pursuit import Brief, Tried
from routing.records import HistoryStore, Switches
from routing.skills import Skill, Skills, catalogue
from routing.tools.offer import ToolOffer, TurnTools
from routing.tools.presentation import Shown
from routing.types import TIERS, PersonSettings, Preferences, Question, Tier

UPGRADED: Tier = "coding"
LEAST_ANSWER = 256
"""Tokens that are asked for in any case: whether there is room for them the provider knows better."""

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which tier, which model, which skill, and why; nothing done. `tools` is what a call was shown of them."""

    decision: TierDecision
    choice: ModelChoice
    skill: Skill | None = None
    tools: ToolOffer | None = None


class Recent:
    """The plans of the newest calls, by conversation."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._plans: dict[int, Plan] = {}

    def note(self, conversation_id: int, plan: Plan) -> None:
        """A call is about to be made."""
        self._plans.pop(conversation_id, None)
        self._plans[conversation_id] = plan
        if len(self._plans) > self._most:
            del self._plans[next(iter(self._plans))]

    def get(self, conversation_id: int) -> Plan | None:
        """The newest; None when there was none since the start, or too many others since."""
        return self._plans.get(conversation_id)


@dataclass(frozen=True, slots=True)
class Asked:
    """What holds for a whole turn: the question, what its person stored, the date where they live."""

    question: Question
    preferences: Preferences
    settings: PersonSettings
    today: str
    owner_instructions: str


def plan(models: Models, skills: Skills, asked: Asked, switches: Switches) -> Plan:
    """The tier by its rules, and the model of that tier. Nothing switches to a tier that nobody but the small local
    model would serve."""
    skill = skills.found.get(switches.skill) if switches.skill else None
    given = asked.preferences, asked.question.prefix
    own = models.choose(tiers.resolve(*given).tier, asked.preferences)
    able = [
        each
        for each in _switches(switches, skill)
        if serves(models.choose(each.tier, asked.preferences), in_place_of=own)
    ]
    decision = tiers.resolve(*given, able)
    return Plan(decision, models.choose(decision.tier, asked.preferences), skill)


def serves(choice: ModelChoice, in_place_of: ModelChoice) -> bool:
    """Whether a switch to this model is none for the worse: the local model takes nobody's place."""
    return choice.source != "local" or in_place_of.source == "local"


def _switches(switches: Switches, skill: Skill | None) -> list[TierSwitch]:
    found = []
    if switches.tier is not None:
        found.append(TierSwitch(switches.tier, "conversation", switches.tier_at, "conversation"))
    if skill is not None and skill.model_tier is not None:
        found.append(TierSwitch(skill.model_tier, "skill", switches.skill_at, f"skill '{skill.name}'"))
    return found


def _known_tools(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Without the calls of tools that there are not, or not for this person."""
    unknown = {each.call_id for each in said if each.role == "tool" and each.text.startswith(f"Error: {NO_TOOL}")}
    return [
        replace(each, calls=tuple(call for call in each.calls if call.id not in unknown)) if each.calls else each
        for each in said
    ]


class TurnBriefing:
    """`routing.turn.Briefing`: a tool may have switched the tier or the skill; the next call already follows."""

    def __init__(
        self,
        asked: Asked,
        models: Models,
        skills: Callable[[], Skills],
        history: HistoryStore,
        context: Context,
        tools: TurnTools,
        bill: Bill,
        deadline: Deadline,
        note: Callable[[int, Plan], None],
    ) -> None:
        """`note` is told of each call's conversation and plan."""
        self._note = note
        self.bounds = models.config.turn
        self.deadline = deadline
        self.most_result_chars = models.config.most_result_chars
        self.bill = bill
        self._asked = asked
        self._models = models
        self._skills = skills
        self._history = history
        self._context = context
        self.tools = tools
        self._upgraded: TierDecision | None = None
        self._last: Plan | None = None
        self._system = ChatMessage("system", "")

    async def next(self, said: Sequence[ChatMessage], may_call: bool, tried: Tried) -> Brief:
        question = self._asked.question
        decided = self._able(self._upgrade(await self._plan(), said), tried)
        contract = self._models.config.contracts[decided.decision.tier]
        self.deadline.allow(min(contract.deadline_seconds, self.bounds.seconds))
        card = self._models.catalog.lookup(decided.choice.model)
        window = Window(card.limit(decided.choice.reasoning), self._models.config.compaction.most_tokens)
        shown = self.tools.shown(decided.choice.model, window.limit)
        if self._last is None or self._last.choice.model != decided.choice.model:
            # Otherwise it stays as it was, and the provider's cache of it stays valid.
            self._system = self._instructions(decided, shown, window.limit)
        if self._last is None or self._last.decision != decided.decision:
            evidence = decided.decision.evidence
            log.info("[ContextBuilding] Resolved tier: %s (source: %s)", decided.decision.tier, evidence)
        self._last = decided
        messages, fit = await self._context.prompt(self._system, said, window, card.supports_vision)
        room = max(LEAST_ANSWER, window.limit - fit.tokens)
        request = self._models.request(decided.decision.tier, decided.choice, messages, shown.specs, may_call, room)
        offer = self.tools.offer(decided.choice.model, window.limit)
        self._note(question.conversation_id, replace(decided, tools=offer))
        widest = max((self._models.catalog.lookup(each).limit(None) for each in decided.choice.fallbacks), default=0)
        scope = self._scope(decided)
        return Brief(decided.decision, contract, decided.choice, request, scope, fit, window.limit, widest)

    async def shorten(self, window: int) -> None:
        await self._context.shorten(window)

    def _able(self, decided: Plan, tried: Tried) -> Plan:
        """The model that can take this turn, and was not asked in vain before in it."""
        vision = bool(self._asked.question.pictures)
        tokens = tried.above + 1 if tried.above else 0
        needs = Needs(vision=vision, tokens=tokens)
        choice = self._models.choose(decided.decision.tier, self._asked.preferences, needs, tried.models)
        return replace(decided, choice=choice)

    async def _plan(self) -> Plan:
        switches = await self._history.switches(self._asked.question.conversation_id)
        return plan(self._models, self._skills(), self._asked, switches)

    def _upgrade(self, decided: Plan, said: Sequence[ChatMessage]) -> Plan:
        """Coding activity in this turn lifts it to the coding tier, up to its end."""
        before = decided.decision
        if self._upgraded is None and said:
            coding = self._models.choose(UPGRADED, self._asked.preferences)
            lifts = dynamic.upgrades(before.tier, before.source, self._models.config.dynamic_tier)
            if lifts and serves(coding, in_place_of=decided.choice) and dynamic.signal(_known_tools(said)):
                log.info("[DynamicTier] Detected coding activity, upgrading tier: %s -> %s", before.tier, UPGRADED)
                self._upgraded = TierDecision(UPGRADED, "dynamic", "coding activity")
        if self._upgraded is None or not dynamic.upgrades(before.tier, before.source, enabled=True):
            return decided
        return Plan(self._upgraded, self._models.choose(UPGRADED, self._asked.preferences), decided.skill)

    def _scope(self, decided: Plan) -> ToolScope:
        """What the tools of this call are told: among it, to which tiers the model may switch."""
        choices = {tier: self._models.choose(tier, self._asked.preferences) for tier in TIERS}
        able = tuple(tier for tier, choice in choices.items() if serves(choice, in_place_of=decided.choice))
        question, zone = self._asked.question, self._asked.settings.time_zone
        size = self._models.size(decided.choice.model).size
        return ToolScope(question.person, question.conversation_id, decided.decision, zone, able, size)

    def _instructions(self, decided: Plan, shown: Shown, window: int) -> ChatMessage:
        """What the model of the next call is told, which is another than that of the last one."""
        log.info("[ToolRouter] %s", self.tools.offer(decided.choice.model, window))
        return Instructions(
            owner=self._asked.owner_instructions,
            person=self._asked.settings.instructions,
            today=self._asked.today,
            tools=shown.hint,
            has_tools=bool(shown.specs),
            skills=catalogue(self._skills()) if shown.specs else "",
            skill=decided.skill,
            skill_chose_tier=decided.decision.source == "skill",
            tiny=self._models.catalog.lookup(decided.choice.model).tiny,
        ).message()
