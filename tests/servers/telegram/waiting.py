"""Waiting for the bot's actions, and queries about them."""

import itertools
import time
from typing import Any

from tests.servers.telegram.journal import Draft, Press, Request
from tests.servers.telegram.script import Script
from tests.servers.telegram.transcript import transcript
from tests.servers.telegram.values import Chat, Message, StoredFile, User
from tests.servers.waiting import TIMEOUT_SECONDS, Waiting

DRAFT_LIFE = 30.0
"""Seconds a draft stays visible unless it is sent again (Bot API, sendMessageDraft)."""
Source = Message | Chat | User | int | str


class Observing(Script, Waiting[Source, Message]):
    """Waits and queries for stories."""

    def replies_to(self, to: Source | None, after: Message | None) -> list[Message]:
        """`to` is a chat, or what `chat_of` takes."""
        where = self.chat_of(to)
        found = where.from_bot()
        if after is None:
            return found
        later = where.messages[where.messages.index(after) + 1 :]
        return [message for message in found if message in later]

    def log(self) -> str:
        return transcript(self)

    def chat_of(self, source: Source | None) -> Chat:
        """The chat meant by a message in it, a user (their private chat), an id or a title; default Alice's."""
        match source:
            case Chat():
                return source
            case Message():
                return source.chat
            case None | User():
                return self.private(source)
            case int() if source in self.chats:
                return self.chats[source]
        return self.group(source)

    async def answered(self, press: Press, timeout: float = TIMEOUT_SECONDS) -> dict[str, Any]:
        """The text of answerCallbackQuery for this press."""
        await self.wait_for(lambda _: press.answer is not None, timeout)
        return press.answer or {}

    def document(self, message: Message) -> StoredFile:
        """The file that a message carries as a document: its name, its type and its bytes."""
        if "document" not in message.content:
            raise AssertionError(f"no document in message {message.id}\n{transcript(self)}")
        return self.file(message.content["document"]["file_id"])

    def picture(self, message: Message) -> StoredFile:
        """The photo that a message shows, in its largest size."""
        if "photo" not in message.content:
            raise AssertionError(f"no photo in message {message.id}\n{transcript(self)}")
        return self.file(message.content["photo"][-1]["file_id"])

    def voice(self, message: Message) -> StoredFile:
        """The voice message."""
        if "voice" not in message.content:
            raise AssertionError(f"no voice in message {message.id}\n{transcript(self)}")
        return self.file(message.content["voice"]["file_id"])

    def calls(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    @property
    def refusals(self) -> list[Request]:
        """Calls answered with an error, including injected faults."""
        return [request for request in self.requests if request.refused]

    def live_drafts(self, chat: Source | None = None) -> list[Draft]:
        """The drafts that are visible in the chat now."""
        where = self.chat_of(chat)
        return [draft for draft in self.all_live_drafts() if draft.chat_id == where.id]

    def all_live_drafts(self) -> list[Draft]:
        """The latest of each id that is younger than 30 s and has no message of the bot after it."""
        oldest = time.monotonic() - DRAFT_LIFE
        latest: dict[tuple[int, int], Draft] = {}
        for draft in itertools.takewhile(lambda draft: draft.at > oldest, reversed(self.drafts)):
            latest.setdefault((draft.chat_id, draft.draft_id), draft)
        return [draft for draft in reversed(latest.values()) if draft.at > self._last_sent(draft.chat_id)]

    def _last_sent(self, chat_id: int) -> float:
        """When the bot last sent a message there; 0 if never."""
        return next((m.at for m in reversed(self.chats[chat_id].messages) if m.from_bot), 0.0)

    def transcript(self) -> str:
        """The log as text."""
        return transcript(self)
