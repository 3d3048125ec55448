"""A thumb at an answer: a reaction to a message that shows it. Nobody is ever told anything for one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from routing.ports import Ledger, PeopleStore, RatingStore, TurnStore
from routing.types.messages import InboundMessage
from routing.types.queues import InboxEntry
from routing.types.usage import Rating

THUMBS: Mapping[str, Rating] = {"👍": 1, "👎": -1}
TAKEN_BACK = "-"
"""Before a thumb: it was there and is gone."""
_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")


def thumb(emoji: str) -> str:
    """The thumb that an emoji is, of whatever colour; empty for any other."""
    plain = _TONES.sub("", emoji)
    return plain if plain in THUMBS else ""


class Reactions:
    """A reaction of a stranger, to somebody else's answer or to anything else is nothing. The text of one is a thumb,
    or TAKEN_BACK and a thumb."""

    def __init__(self, people: PeopleStore, turns: TurnStore, ratings: RatingStore, ledger: Ledger) -> None:
        self._people = people
        self._turns = turns
        self._ratings = ratings
        self._ledger = ledger

    async def take(self, entry: InboxEntry) -> None:
        """Keep what it says; then it is answered."""
        await self._rate(entry.message)
        await self._ledger.finish([entry.id], [])

    async def _rate(self, message: InboundMessage) -> None:
        rating = THUMBS.get(message.text.removeprefix(TAKEN_BACK))
        person = await self._people.find(message.user)
        if rating is None or person is None or person.role == "blocked":
            return
        turn = await self._ratings.turn_of(message.chat, message.message_id)
        if turn is None:
            return
        if message.text.startswith(TAKEN_BACK):
            await self._ratings.take_back(turn, person.id, rating)
        else:
            await self._turns.rate(turn, person.id, rating)
