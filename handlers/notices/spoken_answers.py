"""Sends answers also as voice messages, to people who want that."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from handlers.languages import Say
from handlers.notices.notices import Send
from handlers.replies.costs import cost as price
from handlers.replies.spoken_text import spoken_text
from handlers.storage_retry import retry_storage
from routing.errors import ModelError
from routing.llm.media.speech import Speaker, Spoken
from routing.ports import Ledger, PeopleStore, PreferenceStore
from routing.types.budgets import BudgetExceeded, payer_kind
from routing.types.history import TurnRecord
from routing.types.messages import FileKind, InboundMessage, OutboundMessage, OutgoingFile
from routing.types.usage import TurnCost, known_cost

NAME = "answer"
"""The file's name, without its ending."""

log = logging.getLogger("handlers.spoken_answers")


class SpokenAnswers:
    """A `handlers.post_turn.Hook`. The voice follows the text, and is stored with its cost in one transaction. The text
    neither waits for it nor depends on it."""

    def __init__(
        self, speaker: Speaker, preferences: PreferenceStore, people: PeopleStore, ledger: Ledger, send: Send
    ) -> None:
        self._speaker = speaker
        self._preferences = preferences
        self._people = people
        self._ledger = ledger
        self._send = send

    async def after_turn(self, message: InboundMessage, record: TurnRecord) -> None:
        """Speaks the answer, or its beginning."""
        answer = _answer(record)
        settings = await self._preferences.settings(record.person_id)
        if not (settings.voice and answer):
            return
        text, cut = await asyncio.to_thread(spoken_text, answer)
        person = await self._people.find(message.user)
        if not text or person is None:
            return
        say = Say(person.language or message.language)
        cost = TurnCost(record.person_id, message.chat, payer_kind(person.role, message.user))
        reply = OutboundMessage(
            chat=message.chat,
            text="",
            reply_to="" if message.press else message.message_id,
            owner=record.person_id,
            apart=True,
        )
        spent = TurnRecord(record.turn_id, record.conversation_id, record.person_id, "")
        try:
            if not await self._speaker.order():
                return
            spoken = await self._speaker.speak(text, person.language, cost)
        except BudgetExceeded:
            words = say("🔇 I didn't speak this answer: your limit has no room for it. /budget shows the limits.")
            reply = replace(reply, text=words)
        except ModelError as error:
            log.info("The answer of turn %s was not spoken: %s", record.turn_id, error)
            words = say("🔇 I couldn't speak this answer ({model}: {reason}).", model=error.model, reason=error.reason)
            reply = replace(reply, text=words)
        else:
            reply = replace(reply, text=_caption(say, spoken, cut, settings.footer), files=(_file(spoken),))
            spent = replace(spent, calls=(spoken.call,))
        self._send(await retry_storage(self._ledger.finish, (), [reply], spent))


def _caption(say: Say, spoken: Spoken, cut: bool, with_price: bool) -> str:
    """What the sound does not say."""
    words = [say("🔊 This is the beginning; the text has the rest.")] if cut else []
    if with_price:
        usage = spoken.call.usage
        known = usage is not None and usage.cost is not None
        words.append(f"`{spoken.call.model} · {price(say, known_cost([spoken.call]), 0, not known)}`")
    return "  \n".join(words)


def _file(spoken: Spoken) -> OutgoingFile:
    kind: FileKind = "voice" if spoken.format.is_voice else "file"
    return OutgoingFile(f"{NAME}.{spoken.format.ending}", spoken.format.mime, spoken.data, kind)


def _answer(record: TurnRecord) -> str:
    """The text that a model answered; empty if none did."""
    last = record.messages[-1] if record.messages else None
    if record.facts is None or not record.facts.model or last is None or last.role != "assistant":
        return ""
    return last.text.strip()
