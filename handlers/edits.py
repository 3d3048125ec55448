"""Handles edited messages: offers to answer the last question again with its new text."""

from __future__ import annotations

import json

from handlers.context import CommandContext, Reply
from handlers.parsing import typed_prefix
from handlers.question_text import QuestionTexts, own_words
from handlers.running import RunningTurns
from routing.ports import EDIT_KEY, HistoryStore, StateStore
from routing.types.messages import Button


class Edits:
    """Explains what happens after an edit. A question is answered again only through the button or /retry."""

    def __init__(self, history: HistoryStore, state: StateStore, running: RunningTurns, texts: QuestionTexts) -> None:
        self._history = history
        self._state = state
        self._texts = texts
        self._running = running

    async def answer(self, ask: CommandContext) -> Reply:
        """Offers a button that carries the new text and replaces the old question when pressed."""
        conversation = await self._history.current(ask.message.chat)
        last = await self._history.last_question(conversation.id)
        if last is not None and last.source != ask.message.message_id:
            last = None
        if last is None and ask.message.chat not in self._running:
            words = "I saw your edit, but I only answer edits of your last message. Send the new version instead."
            return Reply(ask.say(words))
        tier, written = typed_prefix(ask.message, ask.person.role)
        text = await self._texts.whole_text(ask, written)
        if not text:
            return Reply("")
        edit = {"source": ask.message.message_id, "tier": tier or "", "text": text}
        edit["own_words"] = own_words(ask, written)
        await self._state.put(EDIT_KEY.format(person_id=ask.person.id), json.dumps(edit))
        if last is None:
            words = "I saw your edit, but I'm still answering the old version. /retry then answers the new one."
            return Reply(ask.say(words))
        if text == last.text:
            return Reply("")
        command = f"/retry {tier or ''}: {text}"
        words = "You edited your message. Answer the new version?"
        return Reply(ask.say(words), ((Button(ask.say("🔁 Answer again"), command, last.turn_id),),))
