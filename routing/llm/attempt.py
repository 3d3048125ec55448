"""One attempt at a completion: reserves budget, streams the answer and enforces the time limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

from routing.budget.guard import BudgetGuard
from routing.budget.reservation import Reservation
from routing.config.contracts import TierContract
from routing.errors import EmptyAnswer, ModelError, Reason, TooSlow, Unreachable
from routing.health.breaker import Trial
from routing.health.cooldown import MAX_WAIT_SECONDS
from routing.health.health import ModelHealth
from routing.llm.streaming.progress import ProgressIndicator
from routing.ports import Clock, LiveReply, Llm
from routing.text import TextPieces, storable
from routing.tracing import Attributes, span
from routing.types.deadline import Deadline
from routing.types.llm import (
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
from routing.types.model_names import provider_of
from routing.types.stop import Stop, Stopped
from routing.types.usage import CallRecord, TurnCost

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The contract, deadline and payer of an attempt. `probe` forces a call to a model with an open breaker, because no
    other model is left."""

    contract: TierContract
    deadline: Deadline
    cost: TurnCost
    probe: bool = False


@dataclass(slots=True)
class _Answer:
    """What a stream has delivered so far. `billed`: the provider may charge for the call."""

    text: str = ""
    finish: Finish = "cut"
    usage: Usage | None = None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    began: float = 0.0
    first_token: float | None = None
    billed: bool = False
    pieces: TextPieces = field(default_factory=TextPieces)

    async def take(self, event: StreamEvent, live: ProgressIndicator) -> None:
        match event:
            case TextDelta(text):
                self.text += self.pieces.add(text)
                live.show(self.text)
            case ThinkingDelta():
                await live.working()
            case StreamEnd(finish, usage, calls, thinking):
                self.finish, self.usage = finish, usage
                self.calls, self.thinking = tuple(map(_clean, calls)), storable(thinking)

    def completion(self, now: float) -> Completion:
        seconds = now - self.began
        return Completion(self.text, self.finish, self.usage, seconds, self.calls, self.thinking, self.first_token)


class ModelCaller:
    """Calls models. Without a `guard`, spending is not limited."""

    def __init__(self, llm: Llm, health: ModelHealth, clock: Clock, guard: BudgetGuard | None = None) -> None:
        self._llm = llm
        self._health = health
        self._clock = clock
        self._guard = guard

    async def complete(self, request: ModelRequest, options: CallOptions, live: LiveReply, stop: Stop) -> Completion:
        """Stream one completion and add its cost to the turn, after waiting for a free slot. If the turn's own deadline
        ends it, the answer finishes as `late`. Raises ModelError if no text was received, BudgetExceeded if the budget
        is used up."""
        answer = _Answer(began=self._clock())
        try:
            traced = span(
                f"chat {request.model}", {"gen_ai.operation.name": "chat", "gen_ai.request.model": request.model}
            )
            with traced, stop.guard(), await self._hold(request, options.cost) as held:
                try:
                    async with self._slot(request, options, answer, live) as trial:
                        if trial is not None:
                            await self._stream(request, options, answer, live, trial)
                finally:
                    traced.set(_traits(answer))
                    if answer.billed:
                        self._charge(held, request, options.cost, answer)
        except Stopped:
            answer.finish = "stopped"
        return answer.completion(self._clock())

    def learn_window(self, model: str, window: int, limit: int | None) -> int:
        """Learn the window of a model that rejected a prompt planned for `window` tokens and reported
        `limit`."""
        return self._health.windows.refused(model, window, limit)

    def forget_window(self, model: str) -> None:
        """Drop the learned window: the model rejected a smaller prompt, too."""
        self._health.windows.forget(model)

    async def _hold(self, request: ModelRequest, cost: TurnCost) -> Reservation:
        return await self._guard.hold(request, cost) if self._guard else Reservation((), None, None, None)

    def _charge(self, held: Reservation, request: ModelRequest, cost: TurnCost, answer: _Answer) -> None:
        """Record the real cost, also of a call that failed."""
        if self._guard is not None:
            self._guard.settle(held, request, answer.usage)
        charged = held.dollars if answer.usage is None else None
        seconds = self._clock() - answer.began
        cost.calls.append(CallRecord(request.tier, request.model, answer.usage, seconds, charged))

    @asynccontextmanager
    async def _slot(
        self, request: ModelRequest, options: CallOptions, answer: _Answer, live: LiveReply
    ) -> AsyncIterator[Trial | None]:
        """Wait for a concurrency slot and the circuit breaker; yields None if the turn's time ends first. While another
        turn probes the model, its result is awaited without a slot. A failure of the block counts against the model,
        and is raised only if the model wrote no text."""
        deadline, health = options.deadline, self._health
        while True:
            async with health.parallel.slot(provider_of(request.model), options.cost.person_id) as waited:
                deadline.wait(waited)
                await self._llm.ready()
                answer.began = self._clock()
                try:
                    async with asyncio.timeout(deadline.left):
                        trial = await self._begin(request, options, live)
                except TimeoutError:  # during the provider's Retry-After
                    break
                if trial is not None:
                    with trial:
                        try:
                            yield trial
                        except ModelError as error:
                            self._failed(error, answer, trial)
                            if not answer.text.strip():
                                raise
                    return
            try:
                async with asyncio.timeout(deadline.left):
                    await health.probed(request.model, request.profile)
            except TimeoutError:
                break
        answer.finish = "late"
        yield None

    async def _begin(self, request: ModelRequest, options: CallOptions, live: LiveReply) -> Trial | None:
        wait = self._health.cooldowns.left(request.model) if options.probe else 0.0
        if 1 <= wait <= MAX_WAIT_SECONDS:
            live.show(waiting_line(request.model, wait))
        try:
            return await self._health.begin(request.model, request.profile, options.probe)
        except ModelError as error:
            error.asked = False
            raise

    async def _stream(
        self, request: ModelRequest, options: CallOptions, answer: _Answer, live: LiveReply, trial: Trial
    ) -> None:
        """Stream with three time limits: first token, attempt, turn."""
        log.info(
            "[LLM] Model tier: %s, selected model: %s, reasoning: %s",
            request.tier,
            request.model,
            request.reasoning or "none",
        )
        now, left = asyncio.get_running_loop().time(), options.deadline.left
        whole = min(options.contract.try_seconds, request.profile.timeout_seconds)
        limit_seconds = min(options.contract.first_token_seconds, whole)
        try:
            answer.billed = True
            with ProgressIndicator(live) as shown:
                limit = asyncio.timeout_at(now + min(limit_seconds, left))
                async with limit, aclosing(self._llm.stream(request)) as events:
                    async for event in events:
                        if answer.first_token is None:
                            answer.first_token = self._clock() - answer.began
                            trial.first_token()
                            limit_seconds = whole
                            if not limit.expired():  # a library may swallow the cancellation
                                limit.reschedule(now + min(limit_seconds, left))
                        await answer.take(event, shown)
        except TimeoutError:
            answer.finish = "late"
            if left < limit_seconds:
                return  # the turn ran out of time, not the model
            self._health.record_duration(request.model, options.contract, limit_seconds, finished=False)
            no_token = answer.first_token is None
            words = "no first words within {seconds:g} s" if no_token else "no complete answer within {seconds:g} s"
            raise TooSlow(request.model, Reason(words, seconds=limit_seconds)) from None
        if answer.finish == "cut" and answer.text.strip():
            raise Unreachable(request.model, Reason("its answer broke off"))
        if not answer.text.strip() and answer.finish in ("stop", "cut"):
            raise EmptyAnswer(request.model, Reason("it gave an empty answer"))
        trial.end()
        seconds = self._clock() - answer.began
        self._health.record_duration(request.model, options.contract, seconds)
        if answer.first_token is not None:
            self._health.pace.note(request.model, answer.first_token, seconds, answer.usage)

    def _failed(self, error: ModelError, answer: _Answer, trial: Trial) -> None:
        log.warning("[LLM] %s failed: %s", error.model, error.raw or error.reason)
        trial.end(error)
        self._health.record_failure(error)
        answer.billed = answer.finish == "late" or answer.first_token is not None or answer.usage is not None


def _traits(answer: _Answer) -> Attributes:
    """What a trace shows of an answer."""
    usage = answer.usage or Usage(0, 0)
    return {
        "tierbot.finish": answer.finish,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }


def waiting_line(model: str, seconds: float) -> str:
    """Shown while waiting for a provider's Retry-After; the same in every language."""
    return f"⏳ `{model}`: {seconds:.0f} s …"


def _clean(call: ToolCall) -> ToolCall:
    return replace(call, id=storable(call.id), name=storable(call.name), arguments=storable(call.arguments))
