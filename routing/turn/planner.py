"""What is decided before each call of a turn, and said in the log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from routing.config.skills import catalogue
from routing.policy import escalation, tiers
from routing.policy.candidates import Needs
from routing.policy.cheapest import cheapest
from routing.policy.models import Models
from routing.ports import HistoryStore, PriceList
from routing.tools.offer import TurnTools
from routing.tools.presentation import Shown
from routing.turn.context import Context
from routing.turn.context_window import Window
from routing.turn.plan import Asked, Plan, in_turn, plan, serves
from routing.turn.pursuit import Brief, Tried
from routing.turn.system_prompt import Instructions
from routing.types.budgets import OverBudget
from routing.types.deadline import Deadline
from routing.types.decisions import TierDecision
from routing.types.llm import ChatMessage
from routing.types.skills import Skills
from routing.types.tiers import Tier
from routing.types.tokens import estimate
from routing.types.tools import NO_TOOL, ToolScope
from routing.types.usage import Bill

UPGRADED: Tier = "coding"
LEAST_ANSWER = 256
"""Tokens that are asked for in any case: whether there is room for them the provider knows better."""

log = logging.getLogger("routing")


def _known_tools(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Without the calls of tools that there are not, or not for this person."""
    unknown = {each.call_id for each in said if each.role == "tool" and each.text.startswith(f"Error: {NO_TOOL}")}
    return [
        replace(each, calls=tuple(call for call in each.calls if call.id not in unknown)) if each.calls else each
        for each in said
    ]


class TurnBriefing:
    """`routing.turn.loop.Briefing`: a tool may have switched the tier or the skill; the next call already follows."""

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
        prices: Callable[[], Awaitable[PriceList]],
    ) -> None:
        """`note` is told of each call's conversation and plan."""
        self._note = note
        self._prices = prices
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
        self._shown_for: tuple[str, int] | None = None
        self._system = ChatMessage("system", "")

    async def next(self, said: Sequence[ChatMessage], may_call: bool, tried: Tried) -> Brief:
        question = self._asked.question
        decided = await self._able(self._upgrade(await self._plan(said), said), said, tried)
        usual, most = self._models.config.contracts[decided.decision.tier], self.bounds.seconds
        contract = self._models.health.pace.contract(usual, decided.choice.model, most)
        self.deadline.allow(min(contract.deadline_seconds, self.bounds.seconds))
        card = self._models.catalog.lookup(decided.choice.model)
        window = Window(
            self._models.window(decided.choice.model, decided.choice.reasoning),
            self._models.config.compaction.most_tokens,
        )
        shown = self.tools.shown(decided.choice.model, window.limit)
        shown_for = (decided.choice.model, window.limit)
        if self._shown_for != shown_for:
            # Otherwise it stays as it was, and the provider's cache of it stays valid.
            self._shown_for = shown_for
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
        widest = max((self._models.window(each, None) for each in decided.choice.fallbacks), default=0)
        scope = self._scope(decided)
        return Brief(decided.decision, contract, decided.choice, request, scope, fit, window.limit, widest)

    async def shorten(self, window: int) -> None:
        await self._context.shorten(window)

    async def _able(self, decided: Plan, said: Sequence[ChatMessage], tried: Tried) -> Plan:
        """The model that can take this turn, and was not asked in vain before in it. Raises OverBudget where it should
        be the cheapest and no price is known."""
        question, preferences = self._asked.question, self._asked.preferences
        needs = Needs(
            vision=bool(question.pictures),
            tools=self.tools.needed or any(each.calls for each in said),
            tokens=max(tried.above + 1, int(estimate([ChatMessage("user", question.text)]))),
        )
        choice = self._models.choose(decided.decision.tier, preferences, needs, tried.models)
        if self.bill.cheapest and self.bill.over is not None:
            thrifty = cheapest(self._models, preferences, needs, tried.models, await self._prices())
            if thrifty is None:
                raise OverBudget(choice.model, self.bill.over)
            choice = thrifty
        return replace(decided, choice=choice)

    async def _plan(self, said: Sequence[ChatMessage]) -> Plan:
        question = self._asked.question
        switches = await self._history.switches(question.conversation_id)
        if question.fixed is not None:
            switches = in_turn(question.fixed.switches, switches, said)
        return plan(self._models, self._skills(), self._asked, switches)

    def _upgrade(self, decided: Plan, said: Sequence[ChatMessage]) -> Plan:
        """Coding activity in this turn lifts it to the coding tier, up to its end."""
        before = decided.decision
        if self._upgraded is None and said:
            lifts = escalation.upgrades(before.tier, before.source, self._models.config.dynamic_tier)
            if (
                lifts
                and serves(self._models, self._asked.preferences, UPGRADED, before.tier)
                and escalation.signal(_known_tools(said))
            ):
                log.info("[DynamicTier] Detected coding activity, upgrading tier: %s -> %s", before.tier, UPGRADED)
                self._upgraded = TierDecision(UPGRADED, "dynamic", "coding activity")
        if self._upgraded is None or not escalation.upgrades(before.tier, before.source, enabled=True):
            return decided
        return Plan(self._upgraded, self._models.choose(UPGRADED, self._asked.preferences), decided.skill)

    def _scope(self, decided: Plan) -> ToolScope:
        """What the tools of this call are told: among it, to which tiers the model may switch."""
        now = decided.decision.tier
        usable = tiers.open_to(self._asked.question.person.role)
        able = tuple(tier for tier in usable if serves(self._models, self._asked.preferences, tier, now))
        question, zone = self._asked.question, self._asked.settings.time_zone
        size = self._models.size(decided.choice.model).size
        return ToolScope(
            question.person,
            question.conversation_id,
            decided.decision,
            zone,
            able,
            size,
            language=question.language,
            bill=self.bill,
        )

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
