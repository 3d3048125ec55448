"""/retry: asks the last question again, optionally with another tier or new text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from handlers.chat import Chat
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.learning import Learner
from routing.errors import Refused
from routing.policy import tiers
from routing.ports import EDIT_KEY, HistoryStore, StateStore
from routing.types.history import StoredMessage
from routing.types.tiers import TIERS, Tier
from routing.types.turns import Question

SPEC = CommandSpec(
    "retry",
    "Ask your last question again, on another tier or in other words",
    ("/retry", "/retry smart", "/retry : the new wording"),
    (TIERS,),
    free_text=True,
    queued=True,
)
_ARGUMENTS = re.compile(r"\s*(\S*?)\s*(?::\s*(.*))?", re.DOTALL)


def build(dependencies: CommandDependencies) -> Handler:
    return RetryCommand(dependencies.history, dependencies.state, dependencies.chat, dependencies.learner)


class RetryCommand:
    """The new answer replaces the old one in the history. The question's text is replaced too if words follow the
    command or the question was edited."""

    def __init__(self, history: HistoryStore, state: StateStore, chat: Chat, learner: Learner) -> None:
        self._history = history
        self._state = state
        self._chat = chat
        self._learner = learner

    async def __call__(self, ask: CommandContext) -> Reply:
        found = _ARGUMENTS.fullmatch(ask.rest.rstrip())
        if found is None:
            raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage))
        prefix = tiers.parse(found.group(1)) if found.group(1) else None
        conversation_id = await ask.conversation_id(self._history)
        asked = await self._history.last_question(conversation_id)
        if ask.button is not None and (asked is None or asked.turn_id != ask.button.about):
            raise Refused("This button is out of date. Send the question again.")
        if asked is None:
            raise Refused("There is no question to repeat in this conversation.")
        if asked.person_id not in (0, ask.person.id):
            raise Refused("Someone else asked the last question here, and only they can repeat it.")
        await ask.live.working()
        if prefix is not None:
            await self._learner.tier_corrected(ask, asked, prefix)
        written = found.group(2) or ""
        edit = await self._edit(ask, asked)
        if not written:
            written, prefix = edit.get("text", ""), prefix or tiers.known(edit.get("tier", ""))
        text = written or asked.text
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
            own_words=_own_words(text, asked, edit),
        )
        reply = await self._chat.turn(ask, again)
        if reply.buttons and written:  # the next retry must use the new text too
            button = replace(reply.buttons[0][0], command=f"/retry {prefix or ''}: {text}")
            return replace(reply, buttons=((button,),))
        return reply

    async def _edit(self, ask: CommandContext, asked: StoredMessage) -> Mapping[str, str]:
        """The question's new text if it was edited; otherwise empty."""
        kept = await self._state.get(EDIT_KEY.format(person_id=ask.person.id))
        edit: Mapping[str, str] = json.loads(kept) if kept else {}
        return edit if edit and edit["source"] == asked.source else {}

    async def _escalates(self, conversation_id: int, prefix: Tier | None) -> bool:
        """Whether this tier is higher than the tier that answered."""
        before = await self._history.tiers(conversation_id, 1)
        return prefix is not None and bool(before) and TIERS.index(prefix) > TIERS.index(before[-1])


def _own_words(text: str, asked: StoredMessage, edit: Mapping[str, str]) -> str:
    """`Question.own_words` of this text. A retry button repeats a text after the command, so texts are compared."""
    if text == edit.get("text"):
        return edit.get("own_words", "")
    return asked.own_words if text == asked.text else ""
