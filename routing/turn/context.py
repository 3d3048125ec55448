"""What a model is told of a conversation, kept inside its context window."""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from routing.config.runtime import RouterConfig
from routing.errors import ModelError
from routing.ports import HistoryStore
from routing.turn import compaction
from routing.turn.context_window import Window
from routing.turn.summariser import Summariser
from routing.turn.truncation import emergency, emergency_chars
from routing.types.history import StoredMessage, Summary, for_person
from routing.types.llm import ChatMessage, Picture
from routing.types.messages import Attachment
from routing.types.tokens import estimate, weight
from routing.types.turns import PromptFit, Question, Switches

MOST_READ = 1000
"""Messages that a prompt may hold; behind so many the older ones become a summary, however short they are."""
MOST_SUMMARISED = 10_000
NOBODY = -1
"""No person's id."""
PICTURES_SHOWN = 4
"""The newest pictures of a conversation that a vision model sees again."""
PICTURE_BYTES = 20_000_000
"""Of all pictures in one request; encoded they are a third more, and providers take 20 to 50 MB."""

log = logging.getLogger("routing")

FetchPicture = Callable[[Attachment], Awaitable[Picture | None]]


class Context:
    """One conversation for the length of a turn: its summary, its messages, the question."""

    def __init__(
        self,
        history: HistoryStore,
        fetch: FetchPicture,
        question: Question,
        config: RouterConfig,
        summariser: Summariser | None = None,
    ) -> None:
        """Without a summariser nothing is summarised, only left out."""
        self._history = history
        self._fetch = fetch
        self._question = question
        self._config = config
        self._summariser = summariser
        self._summary: Summary | None = None
        self._stored: tuple[StoredMessage, ...] = ()
        self._unread = 0
        self._pictures: dict[Attachment, Picture | None] = {}
        self._unseen = 0
        self._tried = False
        self._lost = ""
        self._most_chars = sys.maxsize

    async def load(self) -> None:
        """Read the conversation; again, after it was cut."""
        question = self._question
        self._summary, found, total = await self._history.unsummarised(
            question.conversation_id, MOST_READ, question.replaces
        )
        self._stored = _for(found, question.person.id)
        self._unread = total - len(found)

    async def switches(self) -> Switches:
        """What is set in the conversation now."""
        return await self._history.switches(self._question.conversation_id)

    def questions(self, most: int) -> tuple[str, ...]:
        """What this person asked before in the window, newest first."""
        asked = (each.text for each in reversed(self._mine()) if each.role == "user")
        return tuple(islice(asked, most))

    def last_answer(self) -> str:
        """What was said to this person last; empty at the beginning."""
        return next((each.text for each in reversed(self._mine()) if each.role == "assistant" and each.text), "")

    def called(self) -> frozenset[str]:
        """The tools that were called for this person in the window."""
        return frozenset(call.name for each in self._mine() for call in each.calls)

    def _mine(self) -> Sequence[StoredMessage]:
        """In a group, what others talk of is not this person's topic."""
        return [each for each in self._stored if each.person_id in (0, self._question.person.id)]

    async def prompt(
        self, system: ChatMessage, said: Sequence[ChatMessage], window: Window, vision: bool
    ) -> tuple[tuple[ChatMessage, ...], PromptFit]:
        """The messages of the next call, and how they fit. What is too much becomes a summary, once a turn; then tool
        results are shortened, then the oldest is left out."""
        messages = await self._messages(system, said, vision)
        too_much = self._unread > 0 or self._withheld or window.overflows(messages)
        if too_much and self._config.compaction.enabled and not self._tried and self._summariser is not None:
            self._summariser.spare = 1  # for the answer
            await self.compact(self._config.compaction.keep_last, self._summariser)
            messages = await self._messages(system, said, vision)
        dropped = self._unread
        if not window.takes(weight(messages)):
            messages = compaction.shorten_results(messages, window)
        if not window.takes(weight(messages)):
            messages, left_out = compaction.leave_out(messages, window)
            dropped += left_out
        summary = self._summary
        fit = PromptFit(
            tokens=int(estimate(messages)),
            limit=int(window.room),
            dropped=dropped,
            compactions=summary.number if summary else 0,
            trouble=summary.reason if summary else "",
            lost=self._lost,
            pictures_left_out=self._unseen,
            cut_question=all(each.text != self._question.text for each in messages if each.role == "user"),
        )
        return messages, fit

    async def compact(self, keep: int, summariser: Summariser) -> int:
        """Let a summary stand for all but the last `keep` messages, the question among them; how many it covers. When
        no model writes one they are left out, and the next summary covers them."""
        self._tried = True
        asked = [ChatMessage("user", self._question.text)] if self._question.text else []
        at = compaction.cut([*(_plain(each) for each in self._stored), *asked], keep)
        before = self._summary or Summary(0, "", 0)
        if at <= 0 and not self._withheld:
            return 0
        border = self._stored[at - 1].id if at > 0 else before.upto
        before, older, alone = await self._to_sum_up(before, border)
        me = self._question.person.id
        try:
            text = await summariser.summary(before.text_for(me), [_plain(each) for each in older])
            summary = Summary(border, text, border, reader=me if alone else 0)
        except ModelError as error:
            if summariser.stopped:  # the person has changed their mind: nothing is left out for that
                return 0
            log.warning(
                "[Compaction] No summary (%s); the oldest %d messages are left out",
                error.raw or error.reason,
                len(older),
            )
            summary = Summary(border, before.text, before.covers, error.reason, reader=before.reader)
            self._lost = error.reason
        else:
            log.info("[Compaction] %d messages became a summary of %d characters", len(older), len(text))
        await self._history.summarise(self._question.conversation_id, summary)
        await self.load()
        return len(older)

    async def shorten(self, limit_tokens: int) -> None:
        """A provider said that the prompt is too long: cut every long message, also where it is stored."""
        self._most_chars = emergency_chars(limit_tokens)
        await self._history.shorten(self._question.conversation_id, self._most_chars)
        await self.load()

    @property
    def _withheld(self) -> bool:
        """Whether the summary is another person's alone."""
        return self._summary is not None and self._summary.reader not in (0, self._question.person.id)

    async def _to_sum_up(self, before: Summary, border: int) -> tuple[Summary, Sequence[StoredMessage], bool]:
        """The summary to go on from, the messages behind it up to id `border`, and whether the next one is for one
        person alone. Where several ask, nothing that tools were given or gave goes into it: neither by a message nor
        by a summary that was one person's, which is made anew."""
        me = self._question.person.id
        older = await self._behind(before, border)
        several = any(each.person_id not in (0, me) for each in (*older, *self._stored))
        if not several and (not before.text or before.reader == me):
            return before, older, True
        if before.reader:
            before = Summary(before.upto, "", 0)
            older = await self._behind(before, border)
        return before, _for(older, NOBODY), False

    async def _behind(self, before: Summary, border: int) -> Sequence[StoredMessage]:
        """What the next summary covers: what is told up to the border, and what neither the summary before nor a
        prompt holds."""
        if not self._unread and before.covers == before.upto:
            return [each for each in self._stored if each.id <= border]
        conversation = self._question.conversation_id
        found, _ = await self._history.messages(conversation, MOST_SUMMARISED, border + 1, before.covers)
        return _for(found, self._question.person.id)

    async def _messages(
        self, system: ChatMessage, said: Sequence[ChatMessage], vision: bool
    ) -> tuple[ChatMessage, ...]:
        known = self._summary.text_for(self._question.person.id) if self._summary else ""
        summary = (ChatMessage("system", known),) if known else ()
        room = _Room(PICTURES_SHOWN if vision else 0, PICTURE_BYTES)
        pictures = await self._shown(self._question.pictures, room)
        self._unseen = room.refused if vision else 0
        earlier: list[ChatMessage] = []
        for stored in reversed(self._stored):
            earlier.append(_plain(stored, await self._shown(stored.pictures, room)))
        system = replace(system, text=emergency(system.text, self._most_chars))
        asked = ChatMessage("user", emergency(self._question.text, self._most_chars), pictures)
        return (system, *summary, *reversed(earlier), asked, *said)

    async def _shown(self, attachments: tuple[Attachment, ...], room: _Room) -> tuple[Picture, ...]:
        shown = []
        for each in attachments:
            if not room.pictures or each.size > room.bytes:
                room.refused += 1
                continue
            if each not in self._pictures:
                self._pictures[each] = await self._fetch(each)
            picture = self._pictures[each]
            if picture is not None and room.take(picture):
                shown.append(picture)
        return tuple(shown)


@dataclass(slots=True)
class _Room:
    """How many pictures, and how many bytes of them, a request still takes; `refused` counts those left out."""

    pictures: int
    bytes: int
    refused: int = 0

    def take(self, picture: Picture) -> bool:
        """Whether there is room for it."""
        if len(picture.data) > self.bytes:
            self.refused += 1
            return False
        self.pictures -= 1
        self.bytes -= len(picture.data)
        return True


def _for(found: Sequence[StoredMessage], person_id: int) -> tuple[StoredMessage, ...]:
    """In a group, what tools gave to another person stays theirs."""
    return tuple(for_person(each, person_id) for each in found)


def _plain(stored: StoredMessage, pictures: tuple[Picture, ...] = ()) -> ChatMessage:
    return ChatMessage(
        stored.role,
        stored.text,
        pictures,
        calls=stored.calls,
        made_by=stored.model,
        thinking=stored.thinking,
        call_id=stored.call_id,
        tool=stored.tool,
    )
