"""Who writes the summary of a conversation: the balanced model, with little reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from routing.caller import Caller
from routing.calls import ChatMessage
from routing.compaction import Compactor
from routing.errors import Unreachable
from routing.models import Models
from routing.outcome import CallRecord
from routing.ports import Clock, LiveReply
from routing.stop import Stop
from routing.types import Preferences
from routing.window import CHARS_PER_TOKEN, Window

SUMMARY_SECONDS = 60.0
"""What one of its calls may take; a person waits behind it."""
SHARE_OF_TIME = 0.5
"""Of what is left of the turn; the rest is for the answer."""
EFFORT = "low"
SHARE_FOR_TRANSCRIPT = 0.75
"""Of the window; the rest is for the instructions, the earlier summary and the answer."""


class Summariser:
    """Summaries for one person's turn, which `ends` at that time; `calls` are the model calls that they took."""

    def __init__(
        self,
        caller: Caller,
        models: Models,
        preferences: Preferences,
        live: LiveReply,
        stop: Stop,
        clock: Clock,
        ends: float,
    ) -> None:
        self._clock = clock
        self._ends = ends
        self._caller = caller
        self._models = models
        self._choice = models.choose("balanced", preferences)
        self._live = live
        self._stop = stop
        self.calls: list[CallRecord] = []

    @property
    def stopped(self) -> bool:
        """Whether the person ended it."""
        return self._stop.requested

    async def summary(self, earlier: str, older: Sequence[ChatMessage]) -> str:
        """The text that stands for `older` and for an `earlier` summary. Raises ModelError."""
        card = self._models.catalog.lookup(self._choice.model)
        window = Window(card.limit(self._effort()), self._models.config.compaction.most_tokens)
        most_chars = int((window.threshold - window.overhead) * CHARS_PER_TOKEN * SHARE_FOR_TRANSCRIPT)
        await self._live.working()
        return await Compactor(self._ask).compact(earlier, older, max(1000, most_chars))

    async def _ask(self, instructions: str, transcript: str) -> str:
        model = self._choice.model
        messages = (ChatMessage("system", instructions), ChatMessage("user", transcript))
        request = replace(self._models.request("balanced", self._choice, messages), reasoning=self._effort())
        seconds = min(SUMMARY_SECONDS, (self._ends - self._clock()) * SHARE_OF_TIME)
        completion = await self._caller.complete(request, _Unseen(self._live), self._stop, seconds)
        self.calls.append(CallRecord("balanced", model, completion.usage, completion.seconds))
        if completion.finish not in ("stop", "length"):
            raise Unreachable(model, f"its summary ended early ({completion.finish})")
        return completion.text

    def _effort(self) -> str | None:
        """The least reasoning that the model knows by this name; its usual level otherwise."""
        levels = self._models.catalog.lookup(self._choice.model).levels
        return EFFORT if EFFORT in levels else self._choice.reasoning


class _Unseen:
    """A live reply that shows work and no words: a summary is not for the person."""

    def __init__(self, live: LiveReply) -> None:
        self._live = live

    async def working(self) -> None:
        await self._live.working()

    def show(self, text: str) -> None: ...

    async def acknowledge(self, text: str = "") -> None: ...

    async def close(self) -> str:
        return ""
