"""One answer for a turn, asked of one model after the other until there is one."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from routing.config.contracts import TierContract, output_limit
from routing.errors import ContextOverflow, ModelError
from routing.llm.attempt import Caller, Errand, waiting_line
from routing.policy.failover import MOST_SHORTER, Situation, Step, after
from routing.ports import LiveReply
from routing.types.budgets import OverBudget
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import Completion, ModelRequest
from routing.types.model_names import provider_of
from routing.types.stop import Stop
from routing.types.tools import ToolScope
from routing.types.turns import Failed, PromptFit
from routing.types.usage import Bill

log = logging.getLogger("routing")

Failure = ModelError | Literal["length"]


@dataclass(frozen=True, slots=True)
class Brief:
    """Everything decided for one call, nothing done. `window` is what the model takes, in tokens, `widest` what the
    widest of its fallbacks does."""

    decision: TierDecision
    contract: TierContract
    choice: ModelChoice
    request: ModelRequest
    scope: ToolScope
    fit: PromptFit
    window: int
    widest: int = 0


@dataclass(slots=True)
class Tried:
    """What has failed in a turn so far: which models not to ask again, how often the prompt was `shortened`. `above`: a
    window of more tokens is needed."""

    failed: list[Failed] = field(default_factory=list)
    models: set[str] = field(default_factory=set)
    shortened: int = 0
    above: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """How a turn goes on when a try has failed: `decide` anew, knowing what was `tried`; `shorten` a prompt to a window
    of so many tokens. `bill` is the turn's."""

    decide: Callable[[], Awaitable[Brief]]
    shorten: Callable[[int], Awaitable[None]]
    tried: Tried
    deadline: Deadline
    bill: Bill


@dataclass(slots=True)
class _Chase:
    """One answer's tries so far: of `among` candidates and then `siblings` so many were `asked`, the present one
    `repeats` times before."""

    brief: Brief
    among: int
    siblings: int
    tries: int = 0
    asked: int = 1
    repeats: int = 0


class Pursuit:
    """Within the turn's deadline and the contract's tries; never on after the person has seen a word."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def complete(self, brief: Brief, course: Course, live: LiveReply, stop: Stop) -> tuple[Brief, Completion]:
        """The answer, and what was decided for the try that brought it; its first token is counted from here on, with
        the tries before it. Raises ModelError when nobody gave any."""
        choice = brief.choice
        chase, began = _Chase(brief, 1 + len(choice.fallbacks), len(choice.siblings)), course.deadline.taken
        while True:
            chase.tries += 1
            failure: Failure
            before = course.deadline.taken - began
            try:
                completion = await self._try(chase.brief, course, live, stop)
            except OverBudget as over:
                if not over.cheaper or course.bill.cheapest:
                    raise
                course.bill.cheapest, course.bill.over = True, over.reached
                chase.tries -= 1  # nobody was asked
                chase.brief = await course.decide()
                continue
            except ModelError as error:
                completion, failure = Completion("", "stopped", None, 0.0), error
                chase.tries -= not error.asked
            else:
                if completion.finish != "length" or completion.text.strip():
                    return chase.brief, _later(completion, before)
                failure = "length"
            step = _after(failure, chase, course)
            if isinstance(failure, ContextOverflow) and step.why == "shorten" and not stop.requested:
                await live.working()
                if await self._made_shorter(failure, chase, course):
                    continue
                step = _after(failure, chase, course)
            if step.do != "stop" and await _paused(step, chase.brief, live, stop):
                await self._go_on(step, failure, chase, course)
            elif isinstance(failure, ModelError) and not stop.requested:
                if isinstance(failure, ContextOverflow):
                    self._caller.forget_window(failure.model)
                raise failure
            else:
                return chase.brief, completion

    async def _try(self, brief: Brief, course: Course, live: LiveReply, stop: Stop) -> Completion:
        errand = Errand(brief.contract, course.deadline, course.bill, brief.choice.probe)
        return await self._caller.complete(brief.request, errand, live, stop)

    async def _made_shorter(self, overflow: ContextOverflow, chase: _Chase, course: Course) -> bool:
        """Learn the model's window from the refusal and decide anew for it. False: nothing more can be left out, so the
        same request would be refused again."""
        before, said = chase.brief, overflow.window
        model, window = before.choice.model, before.window
        while course.tried.shortened < MOST_SHORTER:
            course.tried.shortened += 1
            window = self._caller.learn_window(model, window, said)
            log.info("[Failover] %s: shortening the prompt to %d tokens", model, window)
            await course.shorten(window)
            chase.brief = await course.decide()
            if _differs(chase.brief.request, before.request):
                chase.repeats += 1
                return True
            window, said = min(window, before.fit.tokens), None
        return False

    async def _go_on(self, step: Step, failure: Failure, chase: _Chase, course: Course) -> None:
        """Decide anew who is asked what."""
        brief, tried = chase.brief, course.tried
        model = brief.choice.model
        log.info("[Failover] %s: %s (%s)", model, step.do, step.why)
        if step.do == "next":
            tried.models |= {model, *_alike(failure, brief)}
            error = failure if isinstance(failure, ModelError) else None
            tried.failed.append(
                Failed(model, error.reason, step.why, error.raw) if error else Failed(model, "", step.why)
            )
            chase.asked, chase.repeats = chase.asked + 1 + len(_alike(failure, brief)), 0
        else:
            chase.repeats += 1
        match step.why:
            case "larger window":
                tried.above = brief.window
            case "allowance":
                room = max(brief.request.max_output or 0, brief.window - brief.fit.tokens)
                most = output_limit(brief.contract, brief.request.reasoning, room, again=True)
                chase.brief = replace(brief, request=replace(brief.request, max_output=most))
                return
        chase.brief = await course.decide()


def _differs(request: ModelRequest, before: ModelRequest) -> bool:
    return (request.model, request.messages, request.tools) != (before.model, before.messages, before.tools)


def _alike(failure: Failure, brief: Brief) -> list[str]:
    """The models still to be asked that would fail as this one did, with the same key or account."""
    if not (isinstance(failure, ModelError) and failure.shared):
        return []
    provider = provider_of(brief.choice.model)
    return [model for model in brief.choice.fallbacks if provider_of(model) == provider]


def _later(completion: Completion, seconds: float) -> Completion:
    first = completion.first_token
    return completion if first is None else replace(completion, first_token=seconds + first)


def _after(failure: Failure, chase: _Chase, course: Course) -> Step:
    brief = chase.brief
    situation = Situation(
        candidates=chase.among,
        asked=chase.asked + len(_alike(failure, brief)),
        tries=chase.tries,
        attempts=brief.contract.attempts,
        seconds_left=course.deadline.left,
        repeats=chase.repeats,
        shortened=course.tried.shortened,
        larger=brief.widest > brief.window,
        siblings=chase.siblings,
    )
    return after(failure, situation, random.random())


async def _paused(step: Step, brief: Brief, live: LiveReply, stop: Stop) -> bool:
    """Wait as the step asks, visibly where the provider asked for it; False when the person ended it."""
    if step.why == "asked to wait":
        live.show(waiting_line(brief.choice.model, step.seconds))
    await live.working()
    return await stop.guard(asyncio.sleep(step.seconds)) if step.seconds else not stop.requested
