"""The bot's parts used by a compaction, each with a timer."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.llm.null_reply import NullLiveReply
from routing.policy.models import Models
from routing.turn.summariser import Summariser
from routing.types.deadline import Deadline
from routing.types.history import StoredMessage, Summary
from routing.types.llm import (
    ChatMessage,
    ModelRequest,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
    TextDelta,
    Transcript,
    Usage,
)
from routing.types.messages import ChatKey
from routing.types.people import Preferences
from routing.types.stop import Stop
from routing.types.usage import TurnCost
from storage.database import Database
from storage.history import SqlHistory

PHASES = ("reading", "deciding", "transcript", "writing")
_ANSWER = "They talk about the garden. " * 60
"""The summary: 1,700 characters, as of a model that was allowed 500 words."""


@dataclass(slots=True)
class Watch:
    """Milliseconds of wall clock by phase; what no phase claims is `deciding`."""

    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """The time inside the block belongs to a phase."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent[name] += (time.perf_counter() - began) * 1000


class WatchedHistory(SqlHistory):
    """The bot's own store, watched."""

    def __init__(self, database: Database, watch: Watch) -> None:
        super().__init__(database, time.time)
        self._watch = watch

    async def messages(
        self, conversation_id: int, limit: int, before: int | None = None, after: int = 0
    ) -> tuple[tuple[StoredMessage, ...], int]:
        with self._watch.phase("reading"):
            return await super().messages(conversation_id, limit, before, after)

    async def unsummarised(
        self, conversation_id: int, limit: int, before: int | None = None
    ) -> tuple[Summary | None, tuple[StoredMessage, ...], int]:
        with self._watch.phase("reading"):
            return await super().unsummarised(conversation_id, limit, before)

    async def summarise(self, conversation_id: int, summary: Summary) -> None:
        with self._watch.phase("writing"):
            await super().summarise(conversation_id, summary)


class WatchedSummariser(Summariser):
    """The bot's own, watched."""

    def __init__(self, models: Models, llm: AtOnce, watch: Watch) -> None:
        caller = ModelCaller(llm, ModelHealth(time.time), time.time)
        cost = TurnCost(1, ChatKey("cli", "1"))
        super().__init__(caller, models, Preferences(), NullLiveReply(), Stop(), Deadline(time.time, math.inf), cost)
        self._watch = watch

    async def summary(self, earlier: str, older: Sequence[ChatMessage]) -> str:
        with self._watch.phase("transcript"):
            return await super().summary(earlier, older)


class AtOnce:
    """`routing.ports.Llm`: a model that needs no time."""

    def __init__(self) -> None:
        self.asked = 0

    async def ready(self) -> None: ...

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked += 1
        yield TextDelta(_ANSWER)
        yield StreamEnd("stop", Usage(1, 1))

    async def knows(self, model: str) -> bool:
        return True

    async def transcribe(self, model: str, profile: ProviderProfile, name: str, audio: bytes) -> Transcript:
        return Transcript("")
