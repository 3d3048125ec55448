"""An edited message: the last question can be answered in its new wording, on request."""

from __future__ import annotations

from handlers.asking import Ask, Reply
from handlers.chat import Chat
from handlers.parsing import typed_prefix
from handlers.running import RunningTurns
from routing.records import HistoryStore
from routing.types import Button


class Edits:
    """Says what became of an edit; nothing is answered anew without being asked for."""

    def __init__(self, history: HistoryStore, running: RunningTurns, chat: Chat) -> None:
        self._history = history
        self._chat = chat
        self._running = running

    async def answer(self, ask: Ask) -> Reply:
        """The button carries the new words; pressed, they take the place of the old ones."""
        conversation = await self._history.current(ask.message.chat)
        last = await self._history.last_question(conversation.id)
        if last is None or last.source != ask.message.message_id:
            if ask.message.chat in self._running:
                words = (
                    "I saw your edit, but the old words are being answered. /stop ends that; then send the new ones."
                )
                return Reply(ask.say(words))
            words = "I saw your edit, but my answer stands. To have it answered anew, send it again."
            return Reply(ask.say(words))
        tier, written = typed_prefix(ask.message)
        text = await self._chat.whole_text(ask, written)
        if not text or text == last.text:
            return Reply("")
        command = f"/retry {tier or ''}: {text}"
        words = "I saw your edit. Shall I answer the new words instead?"
        return Reply(ask.say(words), ((Button(ask.say("🔁 Answer them"), command, last.turn_id),),))
