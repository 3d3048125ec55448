"""One try of one model: streamed to the person, watched for a sign of life, kept when it breaks off."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from routing.budget.guard import BudgetGuard
from routing.config.contracts import TierContract
from routing.errors import EmptyAnswer, ModelError, Reason, TooSlow, Unreachable
from routing.health.breaker import Trial
from routing.health.cooldown import LONGEST_WAIT_SECONDS
from routing.health.health import ModelHealth
from routing.llm.progress import ProgressIndicator
from routing.ports import Clock, LiveReply, Llm
from routing.text import Pieces, storable
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
from routing.types.stop import Stop
from routing.types.usage import CallRecord, TurnCost

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Under which contract a try is made, until when, and who pays. `probe`: nobody else can be asked."""

    contract: TierContract
    deadline: Deadline
    bill: TurnCost
    probe: bool = False


@dataclass(slots=True)
class _Answer:
    """What has arrived of a stream. `billed`: the provider may ask for money."""

    text: str = ""
    finish: Finish = "cut"
    usage: Usage | None = None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    began: float = 0.0
    first_token: float | None = None
    billed: bool = False
    pieces: Pieces = field(default_factory=Pieces)

    async def take(self, event: StreamEvent, live: ProgressIndicator) -> None:
        """The next of the stream."""
        match event:
            case TextDelta(text):
                self.text += self.pieces.add(text)
                live.show(self.text)
            case ThinkingDelta():
                await live.working()
            case StreamEnd(finish, usage, calls, thinking):
                self.finish, self.usage = finish, usage
                self.calls, self.thinking = tuple(map(_clean, calls)), storable(thinking)


class ModelCaller:
    """Raises ModelError only when nothing could be shown. Without a purse nobody's money is limited."""

    def __init__(self, llm: Llm, health: ModelHealth, clock: Clock, purse: BudgetGuard | None = None) -> None:
        self._llm = llm
        self._health = health
        self._clock = clock
        self._purse = purse

    async def complete(self, request: ModelRequest, errand: CallOptions, live: LiveReply, stop: Stop) -> Completion:
        """Stream one completion, once there is money and a place for it; it goes on the bill. What is late by the
        turn's own deadline is no failure of the model."""
        answer = _Answer(began=self._clock())
        if not await stop.guard(self._paid(request, errand, answer, live)):
            answer.finish = "stopped"
        return Completion(
            text=answer.text,
            finish=answer.finish,
            usage=answer.usage,
            seconds=self._clock() - answer.began,
            calls=answer.calls,
            thinking=answer.thinking,
            first_token=answer.first_token,
        )

    def learn_window(self, model: str, window: int, said: int | None) -> int:
        """The window of a model that refused a prompt made for `window` tokens and named the limit `said`."""
        return self._health.windows.refused(model, window, said)

    def forget_window(self, model: str) -> None:
        """A smaller prompt was refused, too."""
        self._health.windows.forget(model)

    async def _paid(self, request: ModelRequest, errand: CallOptions, answer: _Answer, live: LiveReply) -> None:
        """What it may cost is held, and what it did goes on the bill, whatever came of it."""
        with await self._purse.hold(request, errand.bill) if self._purse else nullcontext() as held:
            try:
                await self._placed(request, errand, answer, live)
            finally:
                if answer.billed:
                    if self._purse is not None and held is not None:
                        self._purse.settle(held, request, answer.usage)
                    charged = held.dollars if held is not None and answer.usage is None else None
                    seconds = self._clock() - answer.began
                    errand.bill.calls.append(CallRecord(request.tier, request.model, answer.usage, seconds, charged))

    async def _placed(self, request: ModelRequest, errand: CallOptions, answer: _Answer, live: LiveReply) -> None:
        """Whatever ends the try early is on record; what was said before that is kept."""
        while not await self._entered(request, errand, answer, live):
            try:
                async with asyncio.timeout(errand.deadline.left):
                    await self._health.probed(request.model, request.profile)
            except TimeoutError:  # the turn ended while it waited for somebody else's probe
                answer.finish = "late"
                return

    async def _entered(self, request: ModelRequest, errand: CallOptions, answer: _Answer, live: LiveReply) -> bool:
        """False: somebody else probes the model, which is not waited for in a place that another call could have."""
        async with self._health.parallel.place(provider_of(request.model), errand.bill.person_id) as waited:
            errand.deadline.wait(waited)
            await self._llm.ready()
            answer.began = self._clock()
            wait = self._health.cooldowns.left(request.model) if errand.probe else 0.0
            if 1 <= wait <= LONGEST_WAIT_SECONDS:
                live.show(waiting_line(request.model, wait))
            try:
                async with asyncio.timeout(errand.deadline.left):
                    trial = await self._health.begin(request.model, request.profile, errand.probe)
            except TimeoutError:  # the turn ended within the wait that the model had asked for
                answer.finish = "late"
                return True
            except ModelError as error:
                error.asked = False
                raise
            if trial is None:
                return False
            try:
                with trial, ProgressIndicator(live) as shown:
                    await self._watched(request, errand, answer, shown, trial)
            except ModelError as error:
                log.warning("[LLM] %s failed: %s", error.model, error.raw or error.reason)
                self._health.failed(error)
                answer.billed = answer.finish == "late" or not (answer.first_token is None and answer.usage is None)
                if not answer.text.strip():
                    answer.text = ""
                    raise
        return True

    async def _watched(
        self, request: ModelRequest, errand: CallOptions, answer: _Answer, live: ProgressIndicator, trial: Trial
    ) -> None:
        """The stream, with an eye on the clock: for its first sign of life, for the try, for the turn."""
        log.info(
            "[LLM] Model tier: %s, selected model: %s, reasoning: %s",
            request.tier,
            request.model,
            request.reasoning or "none",
        )
        now, left = asyncio.get_running_loop().time(), errand.deadline.left
        whole = min(errand.contract.try_seconds, request.profile.timeout_seconds)
        patience = min(errand.contract.first_token_seconds, whole)
        try:
            answer.billed = True
            async with asyncio.timeout_at(now + min(patience, left)) as limit:
                async for event in self._llm.stream(request):
                    if answer.first_token is None:
                        answer.first_token = self._clock() - answer.began
                        trial.speaks()
                        patience = whole
                        if not limit.expired():  # a library may keep what came in the moment of its cancellation
                            limit.reschedule(now + min(patience, left))
                    await answer.take(event, live)
        except TimeoutError:
            answer.finish = "late"
            if left < patience:
                return  # it is the turn that has no more time
            self._health.took(request.model, errand.contract, patience, finished=False)
            unheard = answer.first_token is None
            words = "no first words within {seconds:g} s" if unheard else "no complete answer within {seconds:g} s"
            raise TooSlow(request.model, Reason(words, seconds=patience)) from None
        if answer.finish == "cut" and answer.text.strip():
            raise Unreachable(request.model, Reason("its answer broke off"))
        if not answer.text.strip() and answer.finish in ("stop", "cut"):
            raise EmptyAnswer(request.model, Reason("it gave an empty answer"))
        trial.end()
        seconds = self._clock() - answer.began
        self._health.took(request.model, errand.contract, seconds)
        if answer.first_token is not None:
            self._health.pace.note(request.model, answer.first_token, seconds, answer.usage)


def waiting_line(model: str, seconds: float) -> str:
    """What the person sees while a provider's Retry-After is waited for, in any language."""
    return f"⏳ `{model}`: {seconds:.0f} s …"


def _clean(call: ToolCall) -> ToolCall:
    return replace(call, id=storable(call.id), name=storable(call.name), arguments=storable(call.arguments))
