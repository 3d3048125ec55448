"""Calls the model that writes summaries: the balanced one, with little reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from routing.errors import ModelError, Reason, Unreachable
from routing.llm.attempt import CallOptions, ModelCaller
from routing.llm.null_reply import NullLiveReply
from routing.policy.models import Models
from routing.ports import LiveReply
from routing.turn.compaction import compact
from routing.turn.context_window import Window
from routing.types.deadline import Deadline
from routing.types.llm import ChatMessage
from routing.types.people import Preferences
from routing.types.stop import Stop
from routing.types.tokens import CHARACTERS_PER_TOKEN
from routing.types.usage import TurnCost, known_cost

SUMMARY_SECONDS = 60.0
"""Time limit of one summary call."""
SHARE_OF_TIME = 0.5
"""Share of the turn's remaining time; the rest is for the answer."""
EFFORT = "low"
SHARE_FOR_TRANSCRIPT = 0.75
"""Share of the window; the rest is for the instructions, the earlier summary and the answer."""


class Summariser:
    """Writes summaries within one turn's deadline and limits, and adds their cost to `cost`. `spare` is the number of
    model calls to leave for the rest of the turn."""

    def __init__(
        self,
        caller: ModelCaller,
        models: Models,
        preferences: Preferences,
        live: LiveReply,
        stop: Stop,
        deadline: Deadline,
        cost: TurnCost,
    ) -> None:
        self._deadline = deadline
        self._cost = cost
        self._caller = caller
        self._models = models
        self._choice = models.choose("balanced", preferences)
        self._live = live
        self._stop = stop
        self.spare = 0

    @property
    def stopped(self) -> bool:
        """Whether the person stopped the turn."""
        return self._stop.requested

    async def summary(self, earlier: str, older: Sequence[ChatMessage]) -> str:
        """Summarise `older` together with the `earlier` summary. Raises ModelError."""
        limit = self._models.window(self._choice.model, self._effort())
        window = Window(limit, self._models.config.compaction.most_tokens)
        most_chars = int((window.threshold - window.overhead) * CHARACTERS_PER_TOKEN * SHARE_FOR_TRANSCRIPT)
        await self._live.working()
        return await compact(self._ask, earlier, older, max(1000, most_chars))

    async def _ask(self, instructions: str, transcript: str) -> str:
        model = self._choice.model
        self._check_limits(model)
        messages = (ChatMessage("system", instructions), ChatMessage("user", transcript))
        request = replace(self._models.request("balanced", self._choice, messages), reasoning=self._effort())
        deadline = self._deadline.part(min(SUMMARY_SECONDS, self._deadline.left * SHARE_OF_TIME))
        options = CallOptions(self._models.config.contracts["balanced"], deadline, self._cost)
        completion = await self._caller.complete(request, options, _HiddenReply(self._live), self._stop)
        if completion.finish not in ("stop", "length"):
            raise Unreachable(model, Reason("its summary ended early ({finish})", finish=completion.finish))
        return completion.text

    def _check_limits(self, model: str) -> None:
        """Summary calls count towards the limits of the turn."""
        bounds = self._models.config.turn
        if bounds.dollars is not None and known_cost(self._cost.calls) >= bounds.dollars:
            words = "it would cost more than the ${limit} of one turn"
            raise ModelError(model, Reason(words, limit=bounds.dollars))
        if self._cost.counted + self.spare >= bounds.model_calls:
            words = "it would take more than the {limit} model calls of one turn"
            raise ModelError(model, Reason(words, limit=bounds.model_calls))

    def _effort(self) -> str | None:
        """The lowest reasoning level if the model supports it, else its usual level."""
        levels = self._models.catalog.lookup(self._choice.model).levels
        return EFFORT if EFFORT in levels else self._choice.reasoning


class _HiddenReply(NullLiveReply):
    """Shows activity but hides the text of a summary."""

    def __init__(self, live: LiveReply) -> None:
        self._live = live

    async def working(self) -> None:
        await self._live.working()
