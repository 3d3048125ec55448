"""Waiting for what the bot does, and asking what it did."""

import itertools
import time
from collections.abc import Callable
from typing import Any, Literal, Self, TypeVar, overload

from tests.servers.telegram.journal import Draft, Press, Request
from tests.servers.telegram.script import Script
from tests.servers.telegram.transcript import transcript
from tests.servers.telegram.values import Chat, Message, StoredFile, User

DRAFT_LIFE = 30.0
"""Seconds a draft stays visible unless it is sent again (Bot API, sendMessageDraft)."""
PATIENCE = 30.0
"""Seconds; a bot that starts on a busy machine takes most of them until its first answer."""
Source = Message | Chat | User | int | str
T = TypeVar("T")


class Observing(Script):
    """Every wait ends on the event that it waits for, or fails with the whole log as its text."""

    def __init__(self, bot: User) -> None:
        super().__init__(bot)
        self._returned: set[Message] = set()

    async def wait_for(self, condition: Callable[[Self], T], timeout: float = PATIENCE) -> T:
        """The condition's first true value; asked again after every change. AssertionError after `timeout` s."""
        deadline = time.monotonic() + timeout
        while not (value := condition(self)):
            left = deadline - time.monotonic()
            if left <= 0 or not await self.wait_for_change(left):
                if value := condition(self):
                    break
                raise AssertionError(f"not true within {timeout} s\n{transcript(self)}")
        return value

    @overload
    async def reply(  # type: ignore[overload-overlap]
        self,
        chat: Source | None = None,
        *,
        after: Message | None = None,
        count: Literal[1] = 1,
        matching: Callable[[Message], Any] | str | None = None,
        timeout: float = PATIENCE,
    ) -> Message: ...

    @overload
    async def reply(
        self,
        chat: Source | None = None,
        *,
        after: Message | None = None,
        count: int,
        matching: Callable[[Message], Any] | str | None = None,
        timeout: float = PATIENCE,
    ) -> list[Message]: ...

    async def reply(
        self,
        chat: Source | None = None,
        *,
        after: Message | None = None,
        count: int = 1,
        matching: Callable[[Message], Any] | str | None = None,
        timeout: float = PATIENCE,
    ) -> Message | list[Message]:
        """The next bot message of the chat (default: Alice's) that was not returned before; with `count` > 1 a list.

        `after`: only later ones. `matching`: only those whose text contains it, or for which it is true; asked again
        after every edit, so it can wait for the final state of a streamed answer.
        """
        where = self.chat_of(chat)

        def fresh(_: object) -> list[Message]:
            found = [message for message in where.from_bot() if message not in self._returned]
            if after is not None:
                later = where.messages[where.messages.index(after) + 1 :]
                found = [message for message in found if message in later]
            found = [message for message in found if _matches(message, matching)]
            return found[:count] if len(found) >= count else []

        messages = await self.wait_for(fresh, timeout)
        self._returned.update(messages)
        return messages[0] if count == 1 else messages

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

    async def answered(self, press: Press, timeout: float = PATIENCE) -> dict[str, Any]:
        """What answerCallbackQuery said to this press."""
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

    def calls(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    @property
    def refusals(self) -> list[Request]:
        """Calls answered with an error, ordered faults included."""
        return [request for request in self.requests if request.refused]

    def live_drafts(self, chat: Source | None = None) -> list[Draft]:
        """The drafts that a person sees in the chat now."""
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


def _matches(message: Message, wanted: Callable[[Message], Any] | str | None) -> bool:
    if wanted is None:
        return True
    return wanted in message.text if isinstance(wanted, str) else bool(wanted(message))
