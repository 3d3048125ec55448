"""One answer for a turn, asked of one model after the other until there is one."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from routing.caller import Caller, Errand
from routing.calls import Completion, ModelRequest
from routing.contracts import TierContract, output_limit
from routing.conversation.window import PromptFit
from routing.deadline import Deadline
from routing.decisions import ModelChoice, TierDecision
from routing.errors import ModelError
from routing.failover.step import Situation, Step, after
from routing.money.bill import Bill
from routing.money.over import OverBudget
from routing.outcome import Failed, ToolScope
from routing.ports import LiveReply
from routing.stop import Stop

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
    """What has failed in a turn so far: whom not to ask again. `above`: a window of more tokens is needed."""

    failed: list[Failed] = field(default_factory=list)
    models: set[str] = field(default_factory=set)
    shortened: bool = False
    above: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """How a turn goes on when a try has failed: `decide` anew, knowing what was `tried`; `shorten` a prompt that did
    not fit into so many tokens. `bill` is the turn's."""

    decide: Callable[[], Awaitable[Brief]]
    shorten: Callable[[int], Awaitable[None]]
    tried: Tried
    deadline: Deadline
    bill: Bill


@dataclass(slots=True)
class _Chase:
    """One answer's tries so far: of `among` candidates so many were `asked`, the present one `repeats` times before."""

    brief: Brief
    among: int
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
        chase, began = _Chase(brief, 1 + len(brief.choice.fallbacks)), course.deadline.taken
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
            if step.do != "stop" and await _paused(step, live, stop):
                await self._go_on(step, failure, chase, course)
            elif isinstance(failure, ModelError) and not stop.requested:
                raise failure
            else:
                return chase.brief, completion

    async def _try(self, brief: Brief, course: Course, live: LiveReply, stop: Stop) -> Completion:
        errand = Errand(brief.contract, course.deadline, course.bill, brief.choice.probe)
        return await self._caller.complete(brief.request, errand, live, stop)

    async def _go_on(self, step: Step, failure: Failure, chase: _Chase, course: Course) -> None:
        """Decide anew who is asked what."""
        brief, tried = chase.brief, course.tried
        model = brief.choice.model
        log.info("[Failover] %s: %s (%s)", model, step.do, step.why)
        if step.do == "next":
            tried.models.add(model)
            error = failure if isinstance(failure, ModelError) else None
            tried.failed.append(
                Failed(model, error.reason, step.why, error.raw) if error else Failed(model, "", step.why)
            )
            chase.asked, chase.repeats = chase.asked + 1, 0
        else:
            chase.repeats += 1
        match step.why:
            case "shorten":
                tried.shortened = True
                await course.shorten(brief.window)
            case "larger window":
                tried.above = brief.window
            case "allowance":
                room = max(brief.request.max_output or 0, brief.window - brief.fit.tokens)
                most = output_limit(brief.contract, brief.request.reasoning, room, again=True)
                chase.brief = replace(brief, request=replace(brief.request, max_output=most))
                return
        chase.brief = await course.decide()


def _later(completion: Completion, seconds: float) -> Completion:
    first = completion.first_token
    return completion if first is None else replace(completion, first_token=seconds + first)


def _after(failure: Failure, chase: _Chase, course: Course) -> Step:
    brief = chase.brief
    situation = Situation(
        candidates=chase.among,
        asked=chase.asked,
        tries=chase.tries,
        attempts=brief.contract.attempts,
        seconds_left=course.deadline.left,
        repeats=chase.repeats,
        shortened=course.tried.shortened,
        larger=brief.widest > brief.window,
    )
    return after(failure, situation, random.random())


async def _paused(step: Step, live: LiveReply, stop: Stop) -> bool:
    """Wait as the step asks; False when the person ended it."""
    await live.working()
    return await stop.guard(asyncio.sleep(step.seconds)) if step.seconds else not stop.requested
