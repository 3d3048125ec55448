"""Keeps examples of how each person uses tools and tiers, and compares new messages with them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from routing.bounded import SizeBounded
from routing.config.sections import LearningConfig
from routing.error_boundary import ErrorBoundary
from routing.errors import EmbedderFailed
from routing.policy.auto.preprocessing import PreparedMessage, preprocess
from routing.ports import ChatStore, Embedder, ExampleStore
from routing.types.learning import NOTHING_LEARNED, WORDS, Example, Learned, Lesson
from routing.types.messages import ChatKey
from routing.types.turns import Question
from routing.types.vectors import Floats

if TYPE_CHECKING:  # numpy is imported later, in a thread
    from routing.learning.index import ExampleIndex

MAX_CHARACTERS = 1_000
"""Length to which a message is cut: the request usually comes first."""
MIN_WORDS = 3
"""A shorter message says too little by itself: "fix it", "and tomorrow?"."""
WAIT_SECONDS = 0.2
"""How long a message waits for the encoder, which loads after a start; only if its sender has examples."""
MAX_INDEXED, EXAMPLES_PER_INDEX = 8_000, 4
"""Maximum number of examples in all indexes together, about 8 MB; each index counts as a few more."""

log = logging.getLogger("routing")


class Learning:
    """Examples count only for the person they come from, so nobody can change the tools or tiers of others. They hold
    no text: a vector of the message, what was learned, and the id of the turn."""

    def __init__(
        self, examples: ExampleStore, chats: ChatStore, embedder: Embedder | None, config: Callable[[], LearningConfig]
    ) -> None:
        """`embedder` is the shipped encoder; without it, messages are compared by their words."""
        self.examples = examples
        self._chats = chats
        self._embedder = embedder
        self._config = config
        self._name: str | None = None
        self._indexes: SizeBounded[int, ExampleIndex] = SizeBounded(
            MAX_INDEXED, lambda index: len(index.examples) + EXAMPLES_PER_INDEX
        )
        """By person, the least recently used first."""

    @property
    def config(self) -> LearningConfig:
        return self._config()

    async def applies(self, private: bool, chat: ChatKey | None) -> bool:
        """Whether anything is learned and used in a chat: by its setting, else only if it is private."""
        if not self._config().enabled:
            return False
        chosen = await self._chats.learning(chat) if chat is not None else None
        return private if chosen is None else chosen

    async def about(self, question: Question) -> Learned:
        """What the examples of the person say about their question. Never fails."""
        if not await self.applies(question.private, question.chat):
            return NOTHING_LEARNED
        examples = await self.examples.of(question.person.id)
        if not examples:
            return NOTHING_LEARNED
        with ErrorBoundary(log, "[Learning] A message could not be compared with examples"):
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    found = await self._vector(question.own_words or question.text)
            except TimeoutError:
                return NOTHING_LEARNED
            if found is not None:
                index = await self._index(question.person.id, examples, found[0])
                return index.about(found[1], self._config().examples)
        return NOTHING_LEARNED

    async def keep(self, person_id: int, turn_id: str, text: str, lessons: Sequence[Lesson]) -> None:
        """Keep what a turn with this message teaches. Nothing is kept of a message that says too little."""
        found = await self._vector(text) if lessons else None
        if found is None:
            return
        encoder, vector = found
        if packed := await asyncio.to_thread(_packed, vector):
            await self.examples.add(person_id, [Example(0, each, turn_id, encoder, packed) for each in lessons])
            log.info("[Learning] %s", ", ".join(f"{each.signal}: {each.subject}" for each in lessons))

    async def about_examples(self, person_id: int) -> Sequence[tuple[Example, Learned]]:
        """What the person's examples say about the messages that they come from, oldest first."""
        examples = await self.examples.of(person_id)
        if not examples:
            return ()
        index = await self._index(person_id, examples, await self._encoder())
        return await asyncio.to_thread(index.about_each, self._config().examples)

    async def _index(self, person_id: int, examples: tuple[Example, ...], encoder: str) -> ExampleIndex:
        known = self._indexes.take(person_id)
        if known is None or known.examples is not examples or known.encoder != encoder:
            known = await asyncio.to_thread(_build, examples, encoder)
        self._indexes[person_id] = known
        return known

    async def _encoder(self) -> str:
        """The name of the encoder."""
        if self._name is None:
            embedder = self._embedder
            self._name = WORDS if embedder is None else await asyncio.to_thread(lambda: embedder.name)
        return self._name

    async def _vector(self, text: str) -> tuple[str, Floats] | None:
        """The encoder's name and the vector of a message; None if it says too little, or can't be embedded."""
        text = text[:MAX_CHARACTERS]
        message = preprocess(text)
        if message.units < MIN_WORDS:
            return None
        if self._embedder is None:
            return WORDS, await asyncio.to_thread(_hashed, message)
        name, rows = await self._encoder(), self._embedder.at_once([text])
        if rows is None:
            try:
                rows = await self._embedder.embed([text])
            except EmbedderFailed:
                return None
        return name, rows[0]


def _build(examples: tuple[Example, ...], encoder: str) -> ExampleIndex:
    from routing.learning.index import ExampleIndex

    return ExampleIndex.of(examples, encoder)


def _hashed(message: PreparedMessage) -> Floats:
    from routing.learning.vectors import hashed

    return hashed(message)


def _packed(vector: Floats) -> bytes:
    from routing.learning.vectors import pack

    return pack(vector)
