"""Calls models for a council, with the concurrency limits, breakers and log of any call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from routing.config.contracts import output_limit
from routing.llm.attempt import CallOptions, ModelCaller
from routing.llm.null_reply import NullLiveReply
from routing.policy.models import Models
from routing.ports import Clock
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice
from routing.types.llm import ChatMessage, ModelRequest
from routing.types.stop import Stop
from routing.types.tiers import Tier
from routing.types.tokens import estimate as tokens
from routing.types.usage import CallRecord, TurnCost

EFFORT = "low"
"""Several models think at the same time, so each should think little."""
BROKEN = "\n\n[…]"
"""Appended to an answer that broke off."""
MIN_TOKENS = 256
"""Minimum output limit of a request, in tokens. The provider decides whether it fits."""
MAX_TOKENS = 4_000
"""Maximum visible tokens per call: twice the estimate; without it a deep member could write ten times the estimate."""


class ModelCalls:
    """Implements `routing.ports.AskModel`, with all calls charged to one turn."""

    def __init__(self, models: Models, caller: ModelCaller, clock: Clock, cost: TurnCost) -> None:
        self._models = models
        self._caller = caller
        self._clock = clock
        self._cost = cost

    @property
    def paid_calls(self) -> Sequence[CallRecord]:
        return self._cost.calls

    async def __call__(self, model: str, tier: Tier, messages: tuple[ChatMessage, ...], seconds: float) -> str:
        contract = self._models.config.contracts[tier]  # councils have their own time limits
        contract = replace(contract, first_token_seconds=seconds + 1, try_seconds=seconds + 1)
        options = CallOptions(contract, Deadline(self._clock, seconds), self._cost)
        completion = await self._caller.complete(self._request(model, tier, messages), options, NullLiveReply(), Stop())
        if completion.finish == "late":
            raise TimeoutError
        text = completion.text.strip()
        broken = bool(text) and completion.finish != "stop"
        return text + BROKEN if broken else text

    def _request(self, model: str, tier: Tier, messages: tuple[ChatMessage, ...]) -> ModelRequest:
        level = self._models.reasoning(model, EFFORT)
        choice = ModelChoice(model, level, "configured")
        room = max(MIN_TOKENS, self._models.window(model, level) - round(tokens(messages)))
        request = self._models.request(tier, choice, messages, room=room)
        short = replace(self._models.config.contracts[tier], max_output_tokens=MAX_TOKENS)
        return replace(request, max_output=min(request.max_output or room, output_limit(short, level, room)))
