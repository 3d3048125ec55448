"""What /council left in a chat: a question that waits for a yes, and the votes of the newest council."""

from __future__ import annotations

from dataclasses import dataclass

from handlers.context import CommandContext
from handlers.council.council import ANYBODY, Wanted
from routing.types.messages import ChatKey

MOST_LEFT = 50
"""Chats for which this is remembered, for people who type what others press. A button carries its own."""

MOST_USED = 500
"""Confirmed offers that are remembered."""


@dataclass(slots=True)
class Left:
    """A `question` that waits for a yes, for the `wanted` members; the `votes` of the newest council, as a document."""

    question: str = ""
    wanted: Wanted = ANYBODY
    votes: str = ""


class Offers:
    """By person and chat."""

    def __init__(self) -> None:
        self._left: dict[tuple[int, ChatKey], Left] = {}
        self._used: dict[tuple[ChatKey, str], None] = {}

    def use(self, ask: CommandContext) -> None:
        """Remember that the offer was confirmed, if a button was pressed for it."""
        if press := ask.message.press:
            self._used[ask.message.chat, press.message_id] = None
            if len(self._used) > MOST_USED:
                del self._used[next(iter(self._used))]

    def used(self, ask: CommandContext) -> bool:
        """Whether the offer whose button was pressed was confirmed before."""
        press = ask.message.press
        return press is not None and (ask.message.chat, press.message_id) in self._used

    def left(self, ask: CommandContext) -> Left:
        """What this person's newest council here left; callers change it in place."""
        key = (ask.person.id, ask.message.chat)
        found = self._left[key] = self._left.pop(key, Left())
        if len(self._left) > MOST_LEFT:
            del self._left[next(iter(self._left))]
        return found
