"""One answer of a model: streamed to the person, tried once more when nothing came, kept when it breaks off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field

from routing.calls import Completion, Finish, ModelRequest, StreamEnd, StreamEvent, TextDelta, Usage
from routing.errors import EmptyAnswer, ModelError, RateLimited, Unreachable
from routing.ports import Clock, LiveReply, Llm

SECOND_TRY_SECONDS = (0.5, 1.0)
LONGEST_WAIT_SECONDS = 3.0
"""A Retry-After up to this is waited for (tier contracts, table of failures)."""


class Stop:
    """How /stop reaches a turn: only what waits for the model is cancelled, never what keeps the result."""

    def __init__(self) -> None:
        self.requested = False
        self._listening: asyncio.Task[object] | None = None

    def request(self) -> None:
        """End the turn now, or as soon as it begins to wait for the model."""
        self.requested = True
        if self._listening is not None:
            self._listening.cancel()

    async def guard(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work`; False when it was ended by `request`."""
        if self.requested:
            work.close()
            return False
        self._listening = asyncio.current_task()
        try:
            await work
        except asyncio.CancelledError:
            if not self.requested or self._listening is None:
                raise
            self._listening.uncancel()
            return False
        finally:
            self._listening = None
        return True


@dataclass(slots=True)
class _Answer:
    """What has arrived of a stream."""

    text: str = ""
    finish: Finish = "cut"
    usage: Usage | None = None
    began: float = field(default=0.0)


class Turn:
    """Bounded by the profile's time-out; raises ModelError only when nothing at all could be shown."""

    def __init__(self, llm: Llm, clock: Clock) -> None:
        self._llm = llm
        self._clock = clock

    async def complete(self, request: ModelRequest, live: LiveReply, stop: Stop) -> Completion:
        """Stream one completion; a fault before the first token is tried once more."""
        try:
            return await self._attempt(request, live, stop)
        except ModelError as error:
            if not error.retryable or not await _pause(error):
                raise
        return await self._attempt(request, live, stop)

    async def _attempt(self, request: ModelRequest, live: LiveReply, stop: Stop) -> Completion:
        answer = _Answer(began=self._clock())
        try:
            async with asyncio.timeout(request.profile.timeout_seconds):
                if not await stop.guard(_collect(self._llm.stream(request), answer, live)):
                    answer.finish = "stopped"
        except TimeoutError:
            if not answer.text:
                waited = f"no answer within {request.profile.timeout_seconds:g} s"
                raise Unreachable(request.model, waited) from None
        except ModelError:
            if not answer.text:
                raise
        if not answer.text.strip() and answer.finish in ("stop", "cut"):
            raise EmptyAnswer(request.model, "it answered with nothing")
        return Completion(answer.text, answer.finish, answer.usage, self._clock() - answer.began)


async def _collect(events: AsyncIterator[StreamEvent], answer: _Answer, live: LiveReply) -> None:
    async for event in events:
        match event:
            case TextDelta(text):
                answer.text += text
                live.show(answer.text)
            case StreamEnd(finish, usage):
                answer.finish, answer.usage = finish, usage


async def _pause(error: ModelError) -> bool:
    """Wait before the second try; False when the provider asks for more patience than a person has."""
    if isinstance(error, RateLimited):
        if error.retry_after is None or error.retry_after > LONGEST_WAIT_SECONDS:
            return False
        await asyncio.sleep(error.retry_after)
    else:
        await asyncio.sleep(random.uniform(*SECOND_TRY_SECONDS))
    return True
