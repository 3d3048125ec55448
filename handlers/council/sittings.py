"""The councils of people: one at a time each, one for each offer, and what the newest in a chat left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from handlers.asking import Ask
from handlers.council.convening import ANYBODY, Wanted
from routing.errors import Refused
from routing.ports import Clock
from routing.types import ChatKey

MOST_LEFT = 50
"""Chats whose newest is remembered for those who type what others press; a button brings its own along."""

MOST_USED = 500
"""Offers that are remembered to have had their yes."""

WHOLE_SECONDS = 1.0
"""Telegram's times have no fractions: what was sent right after the end may look as if it had been before."""


@dataclass(slots=True)
class Left:
    """A `question` that waits for a yes, for the `wanted` members; the `votes` of the newest council, as a document."""

    question: str = ""
    wanted: Wanted = ANYBODY
    votes: str = ""


class Sittings:
    """Known by the person, whichever of their accounts they write from."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sitting: set[int] = set()
        self._ended: dict[int, float] = {}
        self._left: dict[tuple[int, ChatKey], Left] = {}
        self._used: dict[tuple[ChatKey, str], None] = {}

    @contextmanager
    def enter(self, ask: Ask) -> Iterator[None]:
        """A council sits for as long as the block. Raises Refused while another one of this person does, and for what
        was sent while it did: that has waited in its chat for the end of it."""
        person = ask.person.id
        if person in self._sitting:
            raise Refused("You already have a council running. Wait for it, or end it with /stop in its chat.")
        if ask.message.sent_at < self._ended.get(person, 0.0) - WHOLE_SECONDS:
            raise Refused(
                "Your last council was still running when you sent this. To start another one, send it again."
            )
        self._sitting.add(person)
        try:
            yield
        finally:
            self._sitting.discard(person)
            self._ended[person] = self._clock()

    def use(self, ask: Ask) -> None:
        """The offer whose button was pressed, if one was, had its yes."""
        if press := ask.message.press:
            self._used[ask.message.chat, press.message_id] = None
            if len(self._used) > MOST_USED:
                del self._used[next(iter(self._used))]

    def used(self, ask: Ask) -> bool:
        """Whether the offer whose button was pressed had its yes before."""
        press = ask.message.press
        return press is not None and (ask.message.chat, press.message_id) in self._used

    def left(self, ask: Ask) -> Left:
        """What this person's newest council here left; to be changed in place."""
        key = (ask.person.id, ask.message.chat)
        found = self._left[key] = self._left.pop(key, Left())
        if len(self._left) > MOST_LEFT:
            del self._left[next(iter(self._left))]
        return found
