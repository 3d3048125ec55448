"""One turn from question to outcome: person → tier → model → tools → prompt → answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from routing.bounded import Bounded
from routing.budget.guard import BudgetGuard
from routing.config.skills import catalogue
from routing.learning.learning import Learning
from routing.llm.attempt import ModelCaller
from routing.memory.recall import Memory
from routing.policy import tiers
from routing.policy.models import Models
from routing.ports import (
    Clock,
    FetchPicture,
    HistoryStore,
    LiveReply,
    OwnerFiles,
    PreferenceStore,
    ServiceAccountStore,
    Tools,
)
from routing.tools.embedding.message_vectors import MessageVectors
from routing.tools.offer import Toolset, TurnTools
from routing.turn.auto_tier import AutoTier
from routing.turn.context import Context
from routing.turn.context_window import Window
from routing.turn.loop import TurnLoop
from routing.turn.plan import Plan, plan
from routing.turn.state import TurnInput, TurnState
from routing.turn.summariser import Summariser
from routing.turn.system_prompt import Instructions
from routing.turn.tool_executor import ToolExecutor
from routing.types.deadline import Deadline
from routing.types.learning import Learned
from routing.types.llm import ChatMessage
from routing.types.memory import NOTHING_REMEMBERED, Fact, Recollection
from routing.types.messages import ChatKey
from routing.types.people import Person, PersonSettings, Preferences
from routing.types.stop import Stop
from routing.types.tiers import TIERS, Tier
from routing.types.time_zones import time_zone
from routing.types.turns import Outcome, PromptFit, Question
from routing.types.usage import CallRecord, TurnCost

EARLIER_QUESTIONS = 1
"""Number of earlier questions that count for a follow-up."""

HINT_SECONDS = 7 * 24 * 3600.0
"""How long a person is not told again that an account would help."""

MAX_PLANS = 1_000
"""Number of conversations whose latest plan is remembered."""

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Compacted:
    """`messages` were summarised; with `failure` they were dropped instead. `calls` are the calls made for it."""

    messages: int
    failure: str
    calls: tuple[CallRecord, ...]


@dataclass(frozen=True, slots=True)
class TurnSources:
    """What a turn reads. `picture` fetches an attachment; None if it is gone. `memory` searches the facts about a
    person, `learning` their examples. `message_vectors` computes vectors; None with EMBEDDINGS=off."""

    preferences: PreferenceStore
    history: HistoryStore
    owner_files: OwnerFiles
    picture: FetchPicture
    accounts: ServiceAccountStore
    memory: Memory
    learning: Learning
    message_vectors: MessageVectors | None


class Router:
    """Plans and runs turns."""

    def __init__(
        self,
        models: Models,
        caller: ModelCaller,
        guard: BudgetGuard,
        tools: Toolset,
        sources: TurnSources,
        clock: Clock,
        steady: Clock,
    ) -> None:
        self.models = models
        self.auto_tier = AutoTier(sources.history, sources.message_vectors)
        self._caller = caller
        self._guard = guard
        self._tools = tools
        self._sources = sources
        self._loop = TurnLoop(caller)
        self._clock = clock
        self._steady = steady
        self._plans = Bounded[int, Plan](MAX_PLANS)

    async def plan(self, person: Person, conversation_id: int, prefix: Tier | None = None) -> Plan:
        """The plan for this person's next turn in this conversation, with reasons."""
        question = Question(person, conversation_id, "", prefix=prefix)
        preferences, _ = await self._choices(question)
        switches = await self._sources.history.switches(conversation_id)
        return plan(self.models, self._sources.owner_files.skills(), question, preferences, switches)

    async def answer(
        self, question: Question, cost: TurnCost, live: LiveReply, stop: Stop, begun: Sequence[ChatMessage] = ()
    ) -> Outcome:
        """Run a turn. A model's failure is an outcome, too. `begun` holds messages after the question: a confirmed tool
        call and its result."""
        models = self.models.snapshot()
        bounds = models.config.turn
        preferences, settings = await self._choices(question)
        deadline = Deadline(self._steady, bounds.seconds)
        summariser = Summariser(self._caller, models, preferences, live, stop, deadline, cost)
        context = await self._context(question, models, summariser)
        learned = await self._sources.learning.about(question)
        auto = None
        if tiers.is_auto(preferences, models.config.default_tier):
            auto = await self.auto_tier.choose(models, question, preferences, context, learned)
        turn = TurnInput(
            question=question,
            preferences=preferences,
            settings=settings,
            today=await self._today(settings),
            owner_instructions=self._sources.owner_files.instructions(),
            models=models,
            skills=self._sources.owner_files.skills(),
            prices=self._guard.prices,
            auto=auto,
            memory=await self._remembered(question, settings, context),
        )
        tools = await self._select_tools(question, settings, context, models, learned)
        executor = ToolExecutor(tools, bounds.tool_calls, models.config.most_result_chars)
        state = TurnState(bounds, deadline, cost, executor, context, tools, self._plans, messages=list(begun))
        outcome = replace(await self._loop.run(turn, state, live, stop), missed=tuple(tools.missed))
        if not tools.connect or outcome.completion is None:
            return outcome
        since = self._clock() - HINT_SECONDS
        return replace(outcome, connect=await self._sources.accounts.hint(question.person.id, tools.connect, since))

    async def affordable(self, person: Person, tier: Tier, tokens: int, cost: TurnCost) -> Tier | None:
        """The best tier of a lower price class that the budget allows, except coding."""
        preferences = tiers.restrict_to_role(await self._sources.preferences.get(person.id), person.role)
        contracts = self.models.config.contracts
        for lower in reversed([each for each in TIERS if contracts[each].is_cheaper(contracts[tier])]):
            choice = self.models.choose(lower, preferences)
            request = self.models.request(lower, choice, ())
            if lower != "coding" and choice.source != "local" and await self._guard.has_room(request, tokens, cost):
                return lower
        return None

    def last(self, conversation_id: int) -> Plan | None:
        """The latest plan of a conversation, also during its turn; None if none is remembered."""
        return self._plans.get(conversation_id)

    async def fit(self, person: Person, conversation_id: int) -> PromptFit:
        """How full the context window would be for a question asked now."""
        question = Question(person, conversation_id, "")
        _, settings = await self._choices(question)
        decided = await self.plan(person, conversation_id)
        model = decided.choice.model
        card = self.models.catalog.lookup(model)
        limit = self.models.window(model, decided.choice.reasoning)
        context = await self._context(question, self.models)
        takes_tools = self.models.takes_tools(model)
        recollection = await self._remembered(question, settings, context)
        system = Instructions(
            owner=self._sources.owner_files.instructions(),
            person=settings.instructions,
            today=await self._today(settings),
            has_tools=takes_tools,
            skills=catalogue(self._sources.owner_files.skills()) if takes_tools else "",
            skill=decided.skill,
            tiny=card.tiny,
            facts=() if card.tiny else tuple(each.text for each in recollection.used),
        )
        window = Window(limit, self.models.config.compaction.most_tokens)
        return (await context.prompt(system.message(), (), window, card.supports_vision))[1]

    async def compact(self, question: Question, keep: int, cost: TurnCost, live: LiveReply, stop: Stop) -> Compacted:
        """Summarise all but the last `keep` messages of the question's conversation."""
        models = self.models.snapshot()
        preferences, _ = await self._choices(question)
        deadline = Deadline(self._steady, models.config.turn.seconds)
        summariser = Summariser(self._caller, models, preferences, live, stop, deadline, cost)
        context = await self._context(question, models, summariser)
        messages = await context.compact(keep, summariser)
        summary = await self._sources.history.summary(question.conversation_id) if messages else None
        return Compacted(messages, summary.reason if summary else "", tuple(cost.calls))

    async def tools(
        self, person: Person, conversation_id: int, text: str, private: bool = True, chat: ChatKey | None = None
    ) -> TurnTools:
        """The tools that this message would offer to the model, in a chat."""
        question = Question(person, conversation_id, text, private=private, chat=chat)
        learned = await self._sources.learning.about(question)
        settings = await self._sources.preferences.settings(person.id)
        context = await self._context(question, self.models)
        return await self._select_tools(question, settings, context, self.models, learned)

    async def outside_sources(self, person: Person, conversation_id: int, tools: Tools) -> tuple[str, ...]:
        """Where the models may have read text by others in this conversation."""
        return (await self._context(Question(person, conversation_id, ""), self.models)).outside_sources(tools, ())

    async def stored_facts(self, person_id: int, turn_id: str) -> tuple[Fact, ...]:
        """The facts that tools stored in a turn."""
        known = await self._sources.memory.facts.of(person_id)
        return tuple(each for each in known if each.turn_id == turn_id)

    async def _remembered(self, question: Question, settings: PersonSettings, context: Context) -> Recollection:
        """The facts for the prompt. None in a group, where others read the answer."""
        if not (settings.memory and question.private):
            return NOTHING_REMEMBERED
        earlier = context.questions(EARLIER_QUESTIONS)
        return await self._sources.memory.for_prompt(question.person.id, question.text, earlier)

    async def _select_tools(
        self, question: Question, settings: PersonSettings, context: Context, models: Models, learned: Learned
    ) -> TurnTools:
        earlier = context.questions(EARLIER_QUESTIONS)
        return await self._tools.for_turn(question, settings.off, earlier, context.called(), models, learned)

    async def _context(self, question: Question, models: Models, summariser: Summariser | None = None) -> Context:
        context = Context(self._sources.history, self._sources.picture, question, models.config, summariser)
        await context.load()
        return context

    async def _choices(self, question: Question) -> tuple[Preferences, PersonSettings]:
        """The person's choices, limited to what their role permits."""
        person, fixed = question.person, question.fixed
        settings = fixed.settings if fixed else await self._sources.preferences.settings(person.id)
        stored = fixed.preferences if fixed else await self._sources.preferences.get(person.id)
        return tiers.restrict_to_role(stored, person.role), settings

    async def _today(self, settings: PersonSettings) -> str:
        return f"{datetime.fromtimestamp(self._clock(), await time_zone(settings.time_zone)):%A, %Y-%m-%d}"
