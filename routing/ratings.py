"""Which answer a message shows, and what was thought of it."""

from __future__ import annotations

from typing import Protocol

from routing.money.books import Rating
from routing.types import ChatKey


class RatingStore(Protocol):
    """Finds the turn that is meant, for as long as its answer is kept in the outbox."""

    async def turn_of(self, chat: ChatKey, message_id: str) -> str | None:
        """The turn whose answer, or a part of it, this message of a chat shows; None for any other message."""

    async def newest(self, chat: ChatKey, person_id: int) -> str | None:
        """The turn of the newest answer that this person had in this chat; None when there is none."""

    async def take_back(self, turn_id: str, person_id: int, rating: Rating) -> bool:
        """This rating by the person whose turn it was, if it is the one that stands, is none any more."""
