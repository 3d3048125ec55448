"""/retry: the last question once more."""

from __future__ import annotations

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.chat import Chat
from handlers.needs import Needs
from routing import tiers
from routing.errors import Refused
from routing.stores import HistoryStore
from routing.types import TIERS, Question

SPEC = CommandSpec(
    "retry", "Ask your last question again, perhaps of another tier", ("/retry", "/retry smart"), (TIERS,), queued=True
)


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return RetryCommand(needs.history, needs.chat)


class RetryCommand:
    """The new answer takes the old one's place in the history."""

    def __init__(self, history: HistoryStore, chat: Chat) -> None:
        self._history = history
        self._chat = chat

    async def __call__(self, ask: Ask) -> Reply:
        prefix = tiers.parse(ask.arguments[0]) if ask.arguments else None
        conversation = await self._history.current(ask.message.chat)
        asked = await self._history.last_question(conversation.id)
        if asked is None:
            raise Refused("There is no question to repeat in this conversation.")
        await ask.live.working()
        again = Question(ask.person, conversation.id, asked.text, asked.pictures, asked.id, prefix)
        return await self._chat.turn(ask, again)
