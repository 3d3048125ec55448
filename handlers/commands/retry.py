"""/retry: the last question once more, perhaps of another tier or in other words."""

from __future__ import annotations

import re
from dataclasses import replace

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.chat import Chat
from handlers.needs import Needs
from routing import tiers
from routing.errors import Refused
from routing.records import HistoryStore
from routing.types import TIERS, Question, Tier

SPEC = CommandSpec(
    "retry",
    "Ask your last question again, perhaps of another tier or in other words",
    ("/retry", "/retry smart", "/retry : the new wording"),
    (TIERS,),
    free_text=True,
    queued=True,
)
_ARGUMENTS = re.compile(r"\s*(\S*?)\s*(?::\s*(.*))?", re.DOTALL)


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return RetryCommand(needs.history, needs.chat)


class RetryCommand:
    """The new answer takes the old one's place in the history, and so do new words."""

    def __init__(self, history: HistoryStore, chat: Chat) -> None:
        self._history = history
        self._chat = chat

    async def __call__(self, ask: Ask) -> Reply:
        found = _ARGUMENTS.fullmatch(ask.rest.rstrip())
        if found is None:
            raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage))
        prefix = tiers.parse(found.group(1)) if found.group(1) else None
        conversation_id = await ask.conversation_id(self._history)
        asked = await self._history.last_question(conversation_id)
        if ask.button is not None and (asked is None or asked.turn_id != ask.button.about):
            raise Refused(
                "The question of this button is no longer the last one here, or was asked anew since. "
                "Nothing was changed; to ask it, send it again."
            )
        if asked is None:
            raise Refused("There is no question to repeat in this conversation.")
        if asked.person_id not in (0, ask.person.id):
            raise Refused("The last question here was somebody else's: only they can have it answered again.")
        await ask.live.working()
        text = found.group(2) or asked.text
        again = Question(
            ask.person,
            conversation_id,
            text,
            asked.pictures,
            asked.id,
            prefix,
            asked.source,
            asked.turn_id,
            await self._escalates(conversation_id, prefix),
            ask.fixed,
        )
        reply = await self._chat.turn(ask, again)
        if reply.buttons and found.group(2):  # the next try is for the new words, too
            button = replace(reply.buttons[0][0], command=f"/retry {found.group(1)}: {text}")
            return replace(reply, buttons=((button,),))
        return reply

    async def _escalates(self, conversation_id: int, prefix: Tier | None) -> bool:
        """Whether this tier is higher than the one that had the question."""
        before = await self._history.tiers(conversation_id, 1)
        return prefix is not None and bool(before) and TIERS.index(prefix) > TIERS.index(before[-1])
