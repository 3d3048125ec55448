"""The story of one turn: who asks → which tier → which model → what it is told → what it answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from routing import prompt, tiers
from routing.calls import ChatMessage, ModelRequest, Outcome, Picture
from routing.errors import ModelError
from routing.models import Models, provider_of
from routing.ports import Clock, LiveReply
from routing.stores import HistoryStore, PreferenceStore, StoredMessage
from routing.turn import Stop, Turn
from routing.types import Attachment, ModelChoice, Person, PromptFit, Question, Tier, TierDecision

HISTORY_READ = 200
"""Messages read at most; what does not fit the context window is left out of these first."""
PICTURES_SHOWN = 4
"""The newest pictures of a conversation that a vision model sees again."""

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided for a turn, nothing done."""

    decision: TierDecision
    choice: ModelChoice


class Router:
    """Decides, then does. `pictures` fetches an attachment; None when it is gone."""

    def __init__(
        self,
        models: Models,
        turn: Turn,
        preferences: PreferenceStore,
        history: HistoryStore,
        pictures: Callable[[Attachment], Awaitable[Picture | None]],
        owner_instructions: Callable[[], str],
        clock: Clock,
    ) -> None:
        self.models = models
        self._turn = turn
        self._preferences = preferences
        self._history = history
        self._pictures = pictures
        self._owner_instructions = owner_instructions
        self._clock = clock

    async def plan(self, person: Person, prefix: Tier | None = None) -> Plan:
        """What the next turn of this person would use, and why."""
        preferences = await self._preferences.get(person.id)
        decision = tiers.resolve(preferences, prefix)
        return Plan(decision, self.models.choose(decision.tier, preferences))

    async def answer(self, question: Question, live: LiveReply, stop: Stop) -> Outcome:
        """One turn from question to outcome; a model's failure is an outcome, too."""
        plan = await self.plan(question.person, question.prefix)
        log.info("[ContextBuilding] Resolved tier: %s (source: %s)", plan.decision.tier, plan.decision.evidence)
        messages, fit = await self._prompt(question, plan.choice)
        try:
            completion = await self._turn.complete(self._request(plan, messages), live, stop)
        except ModelError as error:
            return Outcome(plan.decision, plan.choice, question.text, fit, None, error)
        return Outcome(plan.decision, plan.choice, question.text, fit, completion)

    async def fit(self, person: Person, conversation_id: int) -> PromptFit:
        """How full the context window would be if they asked something now."""
        plan = await self.plan(person)
        return (await self._prompt(Question(person, conversation_id, ""), plan.choice))[1]

    async def _prompt(self, question: Question, choice: ModelChoice) -> tuple[tuple[ChatMessage, ...], PromptFit]:
        settings = await self._preferences.settings(question.person.id)
        stored, total = await self._history.messages(question.conversation_id, HISTORY_READ, question.replaces)
        card = self.models.catalog.lookup(choice.model)
        room = PICTURES_SHOWN if card.supports_vision else 0
        asked = await self._shown(question.pictures, room)
        earlier = await self._earlier(stored, room - len(asked))
        today = datetime.fromtimestamp(self._clock(), ZoneInfo(settings.time_zone))
        return prompt.build(
            prompt.Instructions(self._owner_instructions(), settings.instructions, f"{today:%A, %Y-%m-%d}"),
            earlier,
            question.text,
            asked,
            min(card.limit(choice.reasoning), self.models.config.context_tokens),
            total - len(stored),
        )

    async def _earlier(self, stored: tuple[StoredMessage, ...], room: int) -> list[ChatMessage]:
        """The history as messages; the newest `room` pictures are shown again."""
        messages = []
        for message in reversed(stored):
            shown = await self._shown(message.pictures, room)
            room -= len(shown)
            messages.append(ChatMessage("assistant" if message.role == "assistant" else "user", message.text, shown))
        return messages[::-1]

    async def _shown(self, attachments: tuple[Attachment, ...], room: int) -> tuple[Picture, ...]:
        fetched = [await self._pictures(each) for each in attachments[: max(0, room)]]
        return tuple(picture for picture in fetched if picture is not None)

    def _request(self, plan: Plan, messages: tuple[ChatMessage, ...]) -> ModelRequest:
        config, choice = self.models.config, plan.choice
        card = self.models.catalog.lookup(choice.model)
        return ModelRequest(
            tier=plan.decision.tier,
            model=choice.model,
            messages=messages,
            profile=config.profile(provider_of(choice.model)),
            reasoning=choice.reasoning,
            temperature=config.temperature if card.supports_temperature else None,
        )
