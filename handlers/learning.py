"""Notes what people's choices teach about tools and tiers."""

from __future__ import annotations

from handlers.context import CommandContext
from routing.learning.learning import Learning
from routing.ports import Clock, HistoryStore, Toolbox
from routing.tools.selector import ToolSelector
from routing.types.history import StoredMessage, TurnRecord
from routing.types.learning import Lesson, Signal
from routing.types.messages import InboundMessage
from routing.types.tiers import Tier
from routing.types.usage import Rating

RIGHT_AFTER_SECONDS = 600.0
"""How long after a question a change of the tier or of a toolkit is about that question."""


class Learner:
    """Does nothing in chats where nothing is learned. A person's choices are only about their own turns."""

    def __init__(
        self,
        learning: Learning,
        history: HistoryStore,
        toolbox: Toolbox,
        selector: ToolSelector,
        clock: Clock,
    ) -> None:
        self.learning = learning
        self.history = history
        self.toolbox = toolbox
        self._selector = selector
        self._clock = clock

    async def after_turn(self, message: InboundMessage, record: TurnRecord) -> None:
        """A hook: notes the tools that were called without being shown."""
        if record.missed and await self.learning.applies(message.private, message.chat):
            text = record.own_words or record.question
            await self.learning.keep(record.person_id, record.turn_id, text, record.missed)

    async def tier_chosen(self, ask: CommandContext, tier: Tier) -> None:
        """The person has chosen a tier; if /tier auto has just chosen another one for their question, note it."""
        asked = await self._just_asked(ask)
        if asked is not None:
            await self.tier_corrected(ask, asked, tier)

    async def tier_corrected(self, ask: CommandContext, asked: StoredMessage, tier: Tier) -> None:
        """The person wants this tier for a question; if /tier auto chose another one, note it."""
        person_id = ask.person.id
        if asked.person_id != person_id or not await self._applies(ask):
            return
        found = await self.history.tier_of(asked.turn_id, person_id)
        if found is None or found[1] != "auto":
            return
        await self._take_back(person_id, asked.turn_id, "tier")
        if found[0] != tier:
            await self.learning.keep(person_id, asked.turn_id, _words(asked), [Lesson("tier", tier)])

    async def switched_off(self, ask: CommandContext, toolkit: str) -> None:
        """The person has switched a toolkit off; if it was shown or used for their last question, note it."""
        asked = await self._just_asked(ask)
        if asked is None:
            return
        shown = {each.toolkit for each in (await self._selector.match(_words(asked))).activated}
        if toolkit in shown or toolkit in await self._used(ask.person.id, asked.turn_id):
            await self.learning.keep(ask.person.id, asked.turn_id, _words(asked), [Lesson("off", toolkit)])

    async def rated(self, message: InboundMessage, person_id: int, turn_id: str, rating: Rating | None) -> None:
        """The person has rated the answer of their turn, or taken the rating back. A bad rating speaks against the
        toolkits that the answer used, and against the tier if /tier auto chose it."""
        await self._take_back(person_id, turn_id, "disliked", "disliked tier")
        if rating != -1 or not await self.learning.applies(message.private, message.chat):
            return
        asked = next((m for m in await self.history.of_turns(person_id, [turn_id]) if m.role == "user"), None)
        if asked is None:
            return
        lessons = [Lesson("disliked", name) for name in await self._used(person_id, turn_id)]
        found = await self.history.tier_of(turn_id, person_id)
        if found is not None and found[1] == "auto":
            lessons.append(Lesson("disliked tier", found[0]))
        await self.learning.keep(person_id, turn_id, _words(asked), lessons)

    async def _take_back(self, person_id: int, turn_id: str, *signals: Signal) -> None:
        """Delete what was noted about a turn."""
        known = await self.learning.examples.of(person_id)
        if any(each.turn_id == turn_id and each.lesson.signal in signals for each in known):
            await self.learning.examples.remove(person_id, turn_id, signals)

    async def _applies(self, ask: CommandContext) -> bool:
        return await self.learning.applies(ask.message.private, ask.message.chat)

    async def _just_asked(self, ask: CommandContext) -> StoredMessage | None:
        """The last question in the conversation, if the person has just asked it where something is learned."""
        if not await self._applies(ask):
            return None
        asked = await self.history.last_question(await ask.conversation_id(self.history))
        if asked is None or asked.person_id != ask.person.id or self._clock() - asked.at > RIGHT_AFTER_SECONDS:
            return None
        return asked

    async def _used(self, person_id: int, turn_id: str) -> tuple[str, ...]:
        """The toolkits that were used in a turn, without base toolkits."""
        messages = await self.history.of_turns(person_id, [turn_id])
        called = {call.name for each in messages for call in each.calls}
        kits = (kit for kit in self.toolbox.toolkits() if not kit.base)
        return tuple(kit.name for kit in kits if any(card.name in called for card in kit.tools))


def _words(asked: StoredMessage) -> str:
    return asked.own_words or asked.text
