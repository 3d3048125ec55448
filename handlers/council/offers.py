"""The pending /council question of a chat and the votes of its newest council."""

from __future__ import annotations

from dataclasses import dataclass

from handlers.context import CommandContext
from handlers.council.council import ANYBODY, Wanted
from routing.bounded import Bounded
from routing.types.messages import ChatKey

MAX_PENDING = 50
"""Maximum number of chats to remember, for people who type their answer. A button carries its own question."""

MAX_CONFIRMED = 500
"""Maximum number of confirmed offers to remember."""


@dataclass(slots=True)
class PendingCouncil:
    """The `question` that waits for a confirmation, the `wanted` members, and the `votes` of the newest council as a
    document."""

    question: str = ""
    wanted: Wanted = ANYBODY
    votes: str = ""


class Offers:
    """Pending questions by person and chat."""

    def __init__(self) -> None:
        self._left = Bounded[tuple[int, ChatKey], PendingCouncil](MAX_PENDING)
        self._confirmed = Bounded[tuple[ChatKey, str], bool](MAX_CONFIRMED)

    def confirm(self, ask: CommandContext) -> None:
        """Records a confirmed offer, if a button was pressed for it."""
        if press := ask.message.press:
            self._confirmed[ask.message.chat, press.message_id] = True

    def is_confirmed(self, ask: CommandContext) -> bool:
        """Whether the offer of the pressed button was already confirmed."""
        press = ask.message.press
        return press is not None and (ask.message.chat, press.message_id) in self._confirmed

    def pending(self, ask: CommandContext) -> PendingCouncil:
        """The state for this person and chat. Callers change it in place."""
        key = (ask.person.id, ask.message.chat)
        pending = self._left[key] = self._left.get(key) or PendingCouncil()
        return pending
