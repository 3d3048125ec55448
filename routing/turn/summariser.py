"""Who writes the summary of a conversation, the balanced model with little reasoning; and who may read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from routing.errors import ModelError, Reason, Unreachable
from routing.llm.attempt import CallOptions, ModelCaller
from routing.policy.models import Models
from routing.ports import LiveReply
from routing.turn.compaction import Compactor
from routing.turn.context_window import Window
from routing.types.deadline import Deadline
from routing.types.llm import ChatMessage
from routing.types.people import Preferences
from routing.types.stop import Stop
from routing.types.tokens import CHARS_PER_TOKEN
from routing.types.usage import TurnCost, known_cost

SUMMARY_SECONDS = 60.0
"""What one of its calls may take; a person waits behind it."""
SHARE_OF_TIME = 0.5
"""Of what is left of the turn; the rest is for the answer."""
EFFORT = "low"
SHARE_FOR_TRANSCRIPT = 0.75
"""Of the window; the rest is for the instructions, the earlier summary and the answer."""


class Summariser:
    """Summaries for one person's turn, within its deadline and on its bill; `spare` calls are kept for what comes
    behind a summary."""

    def __init__(
        self,
        caller: ModelCaller,
        models: Models,
        preferences: Preferences,
        live: LiveReply,
        stop: Stop,
        deadline: Deadline,
        bill: TurnCost,
    ) -> None:
        self._deadline = deadline
        self._bill = bill
        self._caller = caller
        self._models = models
        self._choice = models.choose("balanced", preferences)
        self._live = live
        self._stop = stop
        self.spare = 0

    @property
    def stopped(self) -> bool:
        """Whether the person ended it."""
        return self._stop.requested

    async def summary(self, earlier: str, older: Sequence[ChatMessage]) -> str:
        """The text that stands for `older` and for an `earlier` summary. Raises ModelError."""
        limit = self._models.window(self._choice.model, self._effort())
        window = Window(limit, self._models.config.compaction.most_tokens)
        most_chars = int((window.threshold - window.overhead) * CHARS_PER_TOKEN * SHARE_FOR_TRANSCRIPT)
        await self._live.working()
        return await Compactor(self._ask).compact(earlier, older, max(1000, most_chars))

    async def _ask(self, instructions: str, transcript: str) -> str:
        model = self._choice.model
        self._check_limits(model)
        messages = (ChatMessage("system", instructions), ChatMessage("user", transcript))
        request = replace(self._models.request("balanced", self._choice, messages), reasoning=self._effort())
        deadline = self._deadline.part(min(SUMMARY_SECONDS, self._deadline.left * SHARE_OF_TIME))
        errand = CallOptions(self._models.config.contracts["balanced"], deadline, self._bill)
        completion = await self._caller.complete(request, errand, _Unseen(self._live), self._stop)
        if completion.finish not in ("stop", "length"):
            raise Unreachable(model, Reason("its summary ended early ({finish})", finish=completion.finish))
        return completion.text

    def _check_limits(self, model: str) -> None:
        """A summary takes part in the turn's limits."""
        bounds = self._models.config.turn
        if bounds.dollars is not None and known_cost(self._bill.calls) >= bounds.dollars:
            words = "it would cost more than the ${limit} of one turn"
            raise ModelError(model, Reason(words, limit=bounds.dollars))
        if self._bill.counted + self.spare >= bounds.model_calls:
            words = "it would take more than the {limit} model calls of one turn"
            raise ModelError(model, Reason(words, limit=bounds.model_calls))

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

    async def acknowledge(self, text: str = "", spent: bool = False) -> None: ...

    async def close(self) -> str:
        return ""
