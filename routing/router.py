"""The story of one turn: who asks → which tier → which model → which tools → what it is told → what it answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from routing.budget.guard import Purse
from routing.config.skills import catalogue
from routing.llm.attempt import Caller
from routing.policy import tiers
from routing.policy.models import Models
from routing.ports import Clock, HistoryStore, LiveReply, Owned, PreferenceStore, Toolbox
from routing.tools.chooser import ToolChooser
from routing.tools.follow_ups import select
from routing.tools.offer import TurnTools
from routing.turn import auto_tier
from routing.turn.context import Context, FetchPicture
from routing.turn.context_window import Window
from routing.turn.loop import Turn
from routing.turn.plan import Asked, Plan, Recent, plan
from routing.turn.planner import TurnBriefing
from routing.turn.pursuit import Pursuit
from routing.turn.summariser import Summariser
from routing.turn.system_prompt import Instructions
from routing.types.deadline import Deadline
from routing.types.llm import ChatMessage
from routing.types.people import Person, PersonSettings
from routing.types.stop import Stop
from routing.types.tiers import TIERS, Tier
from routing.types.turns import Outcome, PromptFit, Question
from routing.types.usage import Bill, CallRecord

EARLIER = 1
"""Questions that a follow-up may go on with."""

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Compacted:
    """`messages` became a summary; with a `trouble` they are left out instead. `calls` are what that took."""

    messages: int
    trouble: str
    calls: tuple[CallRecord, ...]


class Router:
    """Decides, then does. `pictures` fetches an attachment; None when it is gone."""

    def __init__(
        self,
        models: Models,
        caller: Caller,
        purse: Purse,
        toolbox: Toolbox,
        chooser: ToolChooser,
        preferences: PreferenceStore,
        history: HistoryStore,
        pictures: FetchPicture,
        owned: Owned,
        clock: Clock,
        steady: Clock,
    ) -> None:
        self.models = models
        self._caller = caller
        self._purse = purse
        self._toolbox = toolbox
        self._chooser = chooser
        self._turn = Turn(Pursuit(caller))
        self._preferences = preferences
        self._history = history
        self._pictures = pictures
        self._owned = owned
        self._clock = clock
        self._steady = steady
        self._recent = Recent()

    async def plan(self, person: Person, conversation_id: int, prefix: Tier | None = None) -> Plan:
        """What the next turn of this person in this conversation would use, and why."""
        asked = await self._asked(Question(person, conversation_id, "", prefix=prefix))
        return plan(self.models, self._owned.skills(), asked, await self._history.switches(conversation_id))

    async def answer(
        self, question: Question, bill: Bill, live: LiveReply, stop: Stop, begun: Sequence[ChatMessage] = ()
    ) -> Outcome:
        """One turn from question to outcome; a model's failure is an outcome, too. `begun` was said after the question
        already: the call of a tool that was confirmed, and its result."""
        asked = await self._asked(question)
        deadline = Deadline(self._steady, self.models.config.turn.seconds)
        summariser = Summariser(self._caller, self.models, asked.preferences, live, stop, deadline, bill)
        context = await self._context(question, summariser)
        if tiers.is_auto(asked.preferences, self.models.config.default_tier):
            chosen = await auto_tier.choose(self.models, self._history, question, asked.preferences, context)
            asked = replace(asked, auto=chosen)
        briefing = TurnBriefing(
            asked=asked,
            models=self.models,
            skills=self._owned.skills,
            history=self._history,
            context=context,
            tools=await self._tools(question, asked.settings, context),
            bill=bill,
            deadline=deadline,
            note=self._recent.note,
            prices=self._purse.prices,
        )
        return await self._turn.run(briefing, live, stop, begun)

    async def affordable(self, person: Person, tier: Tier, tokens: int, bill: Bill) -> Tier | None:
        """The best tier of a lower price class than one for which there is no money; coding is for code."""
        preferences = tiers.permitted(await self._preferences.get(person.id), person.role)
        contracts = self.models.config.contracts
        for lower in reversed([each for each in TIERS if contracts[each].is_cheaper(contracts[tier])]):
            choice = self.models.choose(lower, preferences)
            request = self.models.request(lower, choice, ())
            if lower != "coding" and choice.source != "local" and await self._purse.has_room(request, tokens, bill):
                return lower
        return None

    def last(self, conversation_id: int) -> Plan | None:
        """What the newest call in a conversation used, also while its turn runs; None when none is remembered."""
        return self._recent.get(conversation_id)

    async def fit(self, person: Person, conversation_id: int) -> PromptFit:
        """How full the context window would be if they asked something now."""
        question = Question(person, conversation_id, "")
        asked = await self._asked(question)
        decided = await self.plan(person, conversation_id)
        card = self.models.catalog.lookup(decided.choice.model)
        window = Window(
            self.models.window(decided.choice.model, decided.choice.reasoning),
            self.models.config.compaction.most_tokens,
        )
        context = await self._context(question)
        takes_tools = self.models.takes_tools(decided.choice.model)
        system = Instructions(
            owner=asked.owner_instructions,
            person=asked.settings.instructions,
            today=asked.today,
            has_tools=takes_tools,
            skills=catalogue(self._owned.skills()) if takes_tools else "",
            skill=decided.skill,
            tiny=card.tiny,
        )
        return (await context.prompt(system.message(), (), window, card.supports_vision))[1]

    async def compact(self, question: Question, keep: int, bill: Bill, live: LiveReply, stop: Stop) -> Compacted:
        """Let a summary stand for all but the last `keep` messages of a question's conversation."""
        asked = await self._asked(question)
        deadline = Deadline(self._steady, self.models.config.turn.seconds)
        summariser = Summariser(self._caller, self.models, asked.preferences, live, stop, deadline, bill)
        context = await self._context(question, summariser)
        messages = await context.compact(keep, summariser)
        summary = await self._history.summary(question.conversation_id) if messages else None
        return Compacted(messages, summary.reason if summary else "", tuple(bill.calls))

    async def tools(self, person: Person, conversation_id: int, text: str) -> TurnTools:
        """The tools that a message of this person would bring, in this conversation."""
        question = Question(person, conversation_id, text)
        settings = await self._preferences.settings(person.id)
        return await self._tools(question, settings, await self._context(question))

    async def _tools(self, question: Question, settings: PersonSettings, context: Context) -> TurnTools:
        offered = await self._toolbox.offered(question.person)
        toolkits = tuple(each for each in offered if each.name not in settings.off)
        off = [each for each in offered if each.name in settings.off]
        before, used = context.questions(EARLIER), context.called()
        selection = await select(self._chooser, question.text, before, used, toolkits)
        return TurnTools(self._toolbox, self._chooser, self.models, toolkits, selection, off)

    async def _context(self, question: Question, summariser: Summariser | None = None) -> Context:
        context = Context(self._history, self._pictures, question, self.models.config, summariser)
        await context.load()
        return context

    async def _asked(self, question: Question) -> Asked:
        person_id, fixed = question.person.id, question.fixed
        settings = fixed.settings if fixed else await self._preferences.settings(person_id)
        stored = fixed.preferences if fixed else await self._preferences.get(person_id)
        today = datetime.fromtimestamp(self._clock(), ZoneInfo(settings.time_zone))
        return Asked(
            question=question,
            preferences=tiers.permitted(stored, question.person.role),
            settings=settings,
            today=f"{today:%A, %Y-%m-%d}",
            owner_instructions=self._owned.instructions(),
        )
