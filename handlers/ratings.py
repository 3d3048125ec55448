"""Ratings by thumb reactions to an answer. They never produce a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping

from handlers.learning import Learner
from routing.ports import Ledger, PeopleStore, RatingStore, TurnStore
from routing.types.messages import InboundMessage
from routing.types.queues import InboxEntry
from routing.types.usage import Rating

THUMBS: Mapping[str, Rating] = {"👍": 1, "👎": -1}
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")


def thumb(emoji: str) -> str:
    """The thumb of an emoji, with the skin tone removed; empty for any other emoji."""
    plain = _SKIN_TONES.sub("", emoji)
    return plain if plain in THUMBS else ""


class Reactions:
    """Stores thumb reactions to a person's own answers and ignores all others."""

    def __init__(
        self, people: PeopleStore, turns: TurnStore, ratings: RatingStore, ledger: Ledger, learner: Learner
    ) -> None:
        self._people = people
        self._turns = turns
        self._ratings = ratings
        self._ledger = ledger
        self._learner = learner

    async def take(self, entry: InboxEntry) -> None:
        """Stores the rating and marks the entry as done."""
        await self._rate(entry.message)
        await self._ledger.finish([entry.id], [])

    async def _rate(self, message: InboundMessage) -> None:
        rating = THUMBS.get(message.text)
        person = await self._people.find(message.user)
        if rating is None or person is None or person.role == "blocked":
            return
        turn = await self._ratings.turn_of(message.chat, message.message_id)
        if turn is None:
            return
        if message.removed:
            if await self._ratings.take_back(turn, person.id, rating):
                await self._learner.rated(message, person.id, turn, None)
        elif await self._turns.rate(turn, person.id, rating):
            await self._learner.rated(message, person.id, turn, rating)
