"""Builds the prompt of a call from the stored conversation and keeps it inside the context window."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from routing.config.runtime import RouterConfig
from routing.errors import ModelError
from routing.ports import FetchPicture, HistoryStore, Tools
from routing.turn import compaction
from routing.turn.context_window import Window
from routing.turn.summariser import Summariser
from routing.turn.truncation import emergency, emergency_chars
from routing.types.history import StoredMessage, Summary, for_person
from routing.types.llm import ChatMessage, Picture
from routing.types.messages import Attachment
from routing.types.tokens import estimate, weight
from routing.types.turns import PromptFit, Question, Switches

MAX_MESSAGES = 1000
"""Maximum number of stored messages in a prompt. Older ones are summarised."""
MAX_SUMMARISED = 10_000
NO_PERSON = -1
"""An id that no person has."""
PICTURES_SHOWN = 4
"""Number of recent pictures that a vision model sees again."""
PICTURE_BYTES = 20_000_000
"""Total size of the pictures in a request. Base64 adds a third, and providers accept 20 to 50 MB."""
QUOTING = ("\n> [", "```")
"""What quotations, forwarded messages and documents look like in a question."""

log = logging.getLogger("routing")


class Context:
    """One conversation during a turn: its summary, its messages and the question."""

    def __init__(
        self,
        history: HistoryStore,
        fetch: FetchPicture,
        question: Question,
        config: RouterConfig,
        summariser: Summariser | None = None,
    ) -> None:
        """Without a summariser, messages that don't fit are dropped."""
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
        self._missing = 0
        self._tried = False
        self._lost = ""
        self._most_chars = sys.maxsize

    async def load(self) -> None:
        """Read the conversation. Call it again after the conversation was shortened."""
        question = self._question
        self._summary, found, total = await self._history.unsummarised(
            question.conversation_id, MAX_MESSAGES, question.replaces
        )
        self._stored = _for(found, question.person.id)
        self._unread = total - len(found)

    async def switches(self) -> Switches:
        """The tier and skill that the conversation is set to now."""
        return await self._history.switches(self._question.conversation_id)

    def questions(self, most: int) -> tuple[str, ...]:
        """Earlier questions of this person in the window without their documents, newest first."""
        asked = (each.own_words or each.text for each in reversed(self._mine()) if each.role == "user")
        return tuple(islice(asked, most))

    def last_answer(self) -> str:
        """The last answer to this person, or an empty string."""
        return next((each.text for each in reversed(self._mine()) if each.role == "assistant" and each.text), "")

    def called(self) -> frozenset[str]:
        """Names of the tools called for this person in the window."""
        return frozenset(call.name for each in self._mine() for call in each.calls)

    def outside_sources(self, tools: Tools, after: Sequence[ChatMessage]) -> tuple[str, ...]:
        """Where the model may have read text by others: names of tools, pictures, quotations and pasted text, and a
        summary, which may repeat any of them. `after` are the messages after the question."""
        question = self._question
        found = ["summary"] if self._summary is not None or self._unread else []
        asked = [(each.text, each.pictures) for each in self._stored if each.role == "user"]
        for text, pictures in (*asked, (question.text, question.pictures)):
            if pictures:
                found.append("picture")
            if any(mark in f"\n{text}" for mark in QUOTING):
                found.append("quotation")
        called = [each.tool for each in self._stored] + [each.tool for each in after]
        found += [name for name in dict.fromkeys(called) if name and tools.traits(name).outside]
        return tuple(dict.fromkeys(found))

    def _mine(self) -> Sequence[StoredMessage]:
        """In a group, messages of other people don't count."""
        return [each for each in self._stored if each.person_id in (0, self._question.person.id)]

    async def prompt(
        self, system: ChatMessage, after: Sequence[ChatMessage], window: Window, vision: bool
    ) -> tuple[tuple[ChatMessage, ...], PromptFit]:
        """Return the messages of the next call (`after` come after the question) and how they fit. If they don't, they
        are summarised (once per turn), then tool results are shortened, then the oldest messages are dropped."""
        messages = await self._messages(system, after, vision)
        too_much = self._unread > 0 or self._withheld or window.overflows(messages)
        if too_much and self._config.compaction.enabled and not self._tried and self._summariser is not None:
            self._summariser.spare = 1  # reserve one call for the answer
            await self.compact(self._config.compaction.keep_last, self._summariser)
            messages = await self._messages(system, after, vision)
        dropped = self._unread
        if not window.takes(weight(messages)):
            messages = compaction.shorten_results(messages, window)
        if not window.takes(weight(messages)):
            messages, left_out = compaction.drop_oldest(messages, window)
            dropped += left_out
        summary = self._summary
        fit = PromptFit(
            tokens=int(estimate(messages)),
            limit=int(window.room),
            dropped=dropped,
            compactions=summary.number if summary else 0,
            failure=summary.reason if summary else "",
            lost=self._lost,
            pictures_left_out=self._unseen,
            pictures_missing=self._missing,
            cut_question=all(each.text != self._question.text for each in messages if each.role == "user"),
        )
        return messages, fit

    async def compact(self, keep: int, summariser: Summariser) -> int:
        """Summarise all but the last `keep` messages (the question included); return how many were summarised. If no
        model can summarise them, they are dropped for now and the next summary covers them."""
        self._tried = True
        asked = [ChatMessage("user", self._question.text)] if self._question.text else []
        at = compaction.cut([*(_plain(each) for each in self._stored), *asked], keep)
        before = self._summary or Summary(0, "", 0)
        if at <= 0 and not self._withheld:
            return 0
        border = self._stored[at - 1].id if at > 0 else before.upto
        before, older, alone = await self._summary_input(before, border)
        me = self._question.person.id
        try:
            text = await summariser.summary(before.text_for(me), [_plain(each) for each in older])
            summary = Summary(border, text, border, reader=me if alone else 0)
        except ModelError as error:
            if summariser.stopped:  # a stopped turn must not drop messages
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
        """Cut all long messages, also in the store, after a provider rejected the prompt as too long."""
        self._most_chars = emergency_chars(limit_tokens)
        await self._history.shorten(self._question.conversation_id, self._most_chars)
        await self.load()

    @property
    def _withheld(self) -> bool:
        """Whether the summary belongs to another person only."""
        return self._summary is not None and self._summary.reader not in (0, self._question.person.id)

    async def _summary_input(self, before: Summary, border: int) -> tuple[Summary, Sequence[StoredMessage], bool]:
        """Return the summary to continue from, the messages after it up to id `border`, and whether the next summary is
        private to one person. If several people take part, it contains no tool calls or results: a private summary is
        dropped and its messages are read again without them."""
        me = self._question.person.id
        older = await self._unsummarised(before, border)
        several = any(each.person_id not in (0, me) for each in (*older, *self._stored))
        if not several and (not before.text or before.reader == me):
            return before, older, True
        if before.reader:
            before = Summary(before.upto, "", 0)
            older = await self._unsummarised(before, border)
        return before, _for(older, NO_PERSON), False

    async def _unsummarised(self, before: Summary, border: int) -> Sequence[StoredMessage]:
        """The messages for the next summary: those up to the border, and older ones that neither the last summary nor a
        prompt contains."""
        if not self._unread and before.covers == before.upto:
            return [each for each in self._stored if each.id <= border]
        conversation = self._question.conversation_id
        found, _ = await self._history.messages(conversation, MAX_SUMMARISED, border + 1, before.covers)
        return _for(found, self._question.person.id)

    async def _messages(
        self, system: ChatMessage, after: Sequence[ChatMessage], vision: bool
    ) -> tuple[ChatMessage, ...]:
        known = self._summary.text_for(self._question.person.id) if self._summary else ""
        summary = (ChatMessage("system", known),) if known else ()
        room = _Room(PICTURES_SHOWN if vision else 0, PICTURE_BYTES)
        pictures = await self._shown(self._question.pictures, room)
        self._unseen = room.refused if vision else 0
        self._missing = room.missing
        earlier: list[ChatMessage] = []
        for stored in reversed(self._stored):
            earlier.append(_plain(stored, await self._shown(stored.pictures, room)))
        system = replace(system, text=emergency(system.text, self._most_chars))
        asked = ChatMessage("user", emergency(self._question.text, self._most_chars), pictures)
        return (system, *summary, *reversed(earlier), asked, *after)

    async def _shown(self, attachments: tuple[Attachment, ...], room: _Room) -> tuple[Picture, ...]:
        shown = []
        for each in attachments:
            if not room.pictures or each.size > room.bytes:
                room.refused += 1
                continue
            if each not in self._pictures:
                self._pictures[each] = await self._fetch(each)
            picture = self._pictures[each]
            if picture is None:
                room.missing += 1
            elif room.take(picture):
                shown.append(picture)
        return tuple(shown)


@dataclass(slots=True)
class _Room:
    """How many more pictures and bytes a request accepts; `refused` counts the pictures that did not fit, `missing`
    those that could not be fetched."""

    pictures: int
    bytes: int
    refused: int = 0
    missing: int = 0

    def take(self, picture: Picture) -> bool:
        """Reserve space for the picture; False if there is none."""
        if len(picture.data) > self.bytes:
            self.refused += 1
            return False
        self.pictures -= 1
        self.bytes -= len(picture.data)
        return True


def _for(found: Sequence[StoredMessage], person_id: int) -> tuple[StoredMessage, ...]:
    """In a group, hide the tool results of other people."""
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
