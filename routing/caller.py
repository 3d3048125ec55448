"""One answer of a model: streamed to the person, tried once more when nothing came, kept when it breaks off."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from routing.calls import (
    Completion,
    Finish,
    ModelRequest,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from routing.diagnostics import Failures
from routing.errors import EmptyAnswer, ModelError, RateLimited, Unreachable
from routing.failover.cooldown import Cooldowns
from routing.ports import Clock, LiveReply, Llm
from routing.stop import Stop
from routing.text import Pieces, storable

SECOND_TRY_SECONDS = (0.5, 1.0)
LONGEST_WAIT_SECONDS = 3.0
"""A Retry-After up to this is waited for (tier contracts, table of failures)."""

log = logging.getLogger("routing")


@dataclass(slots=True)
class _Answer:
    """What has arrived of a stream."""

    text: str = ""
    finish: Finish = "cut"
    usage: Usage | None = None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    began: float = 0.0


class Caller:
    """One deadline over all tries; raises ModelError only when nothing could be shown."""

    def __init__(self, llm: Llm, failures: Failures, clock: Clock) -> None:
        self._llm = llm
        self._failures = failures
        self._cooldowns = Cooldowns(clock)
        self._clock = clock

    async def complete(
        self, request: ModelRequest, live: LiveReply, stop: Stop, seconds: float = math.inf
    ) -> Completion:
        """Stream one completion; a fault before the first token is tried once more. All of it takes at most the
        profile's time-out. What takes longer than the caller's own `seconds` is late, and no failure of the model."""
        answer = _Answer(began=self._clock())
        patience = request.profile.timeout_seconds
        try:
            async with asyncio.timeout(max(0.0, min(patience, seconds))):
                if not await stop.guard(self._tries(request, answer, live)):
                    answer.finish = "stopped"
        except TimeoutError:
            answer.finish = "late"
            if patience <= seconds:
                late = Unreachable(request.model, f"no answer within {patience:g} s")
                self._note(late)
                if not answer.text.strip():
                    raise late from None
        took = self._clock() - answer.began
        return Completion(answer.text, answer.finish, answer.usage, took, answer.calls, answer.thinking)

    async def _tries(self, request: ModelRequest, answer: _Answer, live: LiveReply) -> None:
        try:
            return await self._try(request, answer, live)
        except ModelError as error:
            if not error.retryable or not await _pause(error):
                raise
        await self._try(request, answer, live)

    async def _try(self, request: ModelRequest, answer: _Answer, live: LiveReply) -> None:
        """One call. Whatever ends it early is on record; what was said before that is kept."""
        log.info(
            "[LLM] Model tier: %s, selected model: %s, reasoning: %s",
            request.tier,
            request.model,
            request.reasoning or "none",
        )
        self._cooldowns.check(request.model)
        try:
            await _collect(self._llm.stream(request), answer, live)
            if not answer.text.strip() and answer.finish in ("stop", "cut"):
                raise EmptyAnswer(request.model, "it answered with nothing")
        except ModelError as error:
            self._note(error)
            if not answer.text.strip():
                answer.text = ""
                raise
        else:
            if answer.finish == "cut":
                self._note(Unreachable(request.model, "its answer broke off"))

    def _note(self, error: ModelError) -> None:
        log.warning("[LLM] %s failed: %s", error.model, error.reason)
        self._failures.note(error.model, error.reason, self._clock())
        self._cooldowns.note(error)


async def _collect(events: AsyncIterator[StreamEvent], answer: _Answer, live: LiveReply) -> None:
    pieces = Pieces()
    async for event in events:
        match event:
            case TextDelta(text):
                answer.text += pieces.add(text)
                live.show(answer.text)
            case ThinkingDelta():
                await live.working()
            case StreamEnd(finish, usage, calls, thinking):
                answer.finish, answer.usage = finish, usage
                answer.calls, answer.thinking = tuple(map(_clean, calls)), storable(thinking)


def _clean(call: ToolCall) -> ToolCall:
    return replace(call, id=storable(call.id), name=storable(call.name), arguments=storable(call.arguments))


async def _pause(error: ModelError) -> bool:
    """Wait before the second try; False when the provider asks for more patience than a person has."""
    asked = error.retry_after
    if (asked is None and isinstance(error, RateLimited)) or (asked is not None and asked > LONGEST_WAIT_SECONDS):
        return False
    usual = 0.0 if isinstance(error, RateLimited) else random.uniform(*SECOND_TRY_SECONDS)
    await asyncio.sleep(max(asked or 0.0, usual))
    return True
