"""One turn: plan a call, attempt it, on failure plan again, run the tools that the model calls, repeat."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from routing.config.contracts import output_limit
from routing.errors import ContextOverflow, EmptyAnswer, ModelError
from routing.llm.attempt import CallOptions, ModelCaller, waiting_line
from routing.policy.failover import MAX_SHORTENED, MIN_SECONDS, Failure, Situation, Step, after
from routing.ports import LiveReply
from routing.turn.planner import plan_call
from routing.turn.state import CallPlan, TurnInput, TurnState
from routing.turn.truncation import emergency_chars
from routing.types.budgets import BudgetExceeded
from routing.types.llm import Completion, ModelRequest, ToolCall
from routing.types.model_names import provider_of
from routing.types.stop import Stop, Stopped
from routing.types.turns import Failed, Outcome

TOOLS_NAMED = 3
_NAME = re.compile(r"[^\w-]")
_NOTHING = Completion("", "stopped", None, 0.0)

log = logging.getLogger("routing")


class TurnLoop:
    """Runs a turn to its end; a model's failure is an outcome, too."""

    def __init__(
        self, caller: ModelCaller, plan: Callable[[TurnInput, TurnState], Awaitable[CallPlan]] = plan_call
    ) -> None:
        self._caller = caller
        self._plan_call = plan

    async def run(self, turn: TurnInput, state: TurnState, live: LiveReply, stop: Stop) -> Outcome:
        plan = await self._plan(turn, state)
        state.begin_answer(plan)
        while True:
            options = CallOptions(plan.contract, state.deadline, state.cost, plan.choice.probe)
            completion, failure, following = _NOTHING, None, None
            state.begin_attempt()
            try:
                completion = await self._caller.complete(plan.request, options, live, stop)
                failure = state.end_attempt(completion)
            except ModelError as error:
                failure = state.fail_attempt(error)
            try:
                if failure is not None:
                    following = await self._plan_after(failure, plan, turn, state, live, stop)
                elif completion.calls and await self._run_tools(completion, plan, state, live, stop):
                    following = await self._plan(turn, state)
                    state.begin_answer(following)
            except BudgetExceeded as error:
                failure = error
            if following is None:
                return _outcome(plan, completion, failure, state, stop)
            plan = following

    async def _plan(self, turn: TurnInput, state: TurnState) -> CallPlan:
        state.check_calls()
        plan = await self._plan_call(turn, state)
        if state.may_call_tools:
            state.check_time_and_money()  # a summary, written for this plan, may have used them up
            state.check_calls()
            if not state.may_call_tools:
                return await self._plan_call(turn, state)
        return plan

    async def _plan_after(
        self, failure: Failure, plan: CallPlan, turn: TurnInput, state: TurnState, live: LiveReply, stop: Stop
    ) -> CallPlan | None:
        """The next attempt at the same answer; None: there is none."""
        if isinstance(failure, BudgetExceeded):
            if not failure.cheaper or state.cost.cheapest:
                return None
            state.switch_to_cheapest(failure.reached)
            return await self._plan(turn, state)
        step = _step(failure, plan, state)
        if isinstance(failure, ContextOverflow) and step.why == "shorten" and not stop.requested:
            await live.working()
            shorter = await self._shortened(failure, plan, turn, state)
            if shorter is not None:
                return shorter
            step = _step(failure, plan, state)
        if step.do != "stop" and await _pause(step, plan, live, stop):
            return await self._retry(step, failure, plan, turn, state)
        if isinstance(failure, ContextOverflow) and not stop.requested:
            self._caller.forget_window(failure.model)
        return None

    async def _shortened(
        self, overflow: ContextOverflow, plan: CallPlan, turn: TurnInput, state: TurnState
    ) -> CallPlan | None:
        """Learn the model's window from the refusal and plan for it. None: nothing more can be left out, so the same
        request would be refused again."""
        limit, model, window = overflow.window, plan.choice.model, plan.window
        while state.shortened < MAX_SHORTENED:
            window = self._caller.learn_window(model, window, limit)
            log.info("[Failover] %s: shortening the prompt to %d tokens", model, window)
            state.begin_shortening(window)
            shorter = await self._plan(turn, state)
            if _differs(shorter.request, plan.request):
                state.repeat()
                return shorter
            window, limit = min(window, plan.fit.tokens), None
        return None

    async def _retry(self, step: Step, failure: Failure, plan: CallPlan, turn: TurnInput, state: TurnState) -> CallPlan:
        """The same model again, or the next one."""
        model = plan.choice.model
        log.info("[Failover] %s: %s (%s)", model, step.do, step.why)
        if step.do == "next":
            error = (failure.reason, step.why, failure.raw) if isinstance(failure, ModelError) else ("", step.why)
            state.give_up([model, *_like_failures(failure, plan)], Failed(model, *error))
        else:
            state.repeat()
        if step.why == "larger window":
            state.require_window_above(plan.window)
        if step.why == "allowance":
            room = max(plan.request.max_output or 0, plan.window - plan.fit.tokens)
            most = output_limit(plan.contract, plan.request.reasoning, room, again=True)
            return replace(plan, request=replace(plan.request, max_output=most))
        return await self._plan(turn, state)

    async def _run_tools(
        self, completion: Completion, plan: CallPlan, state: TurnState, live: LiveReply, stop: Stop
    ) -> bool:
        """Run what the model called, unless a limit is reached; every call gets a result. Whether the turn goes on."""
        calls, executor = completion.calls, state.executor
        state.record_calls(completion, plan.choice.model)
        results = executor.not_run(calls)
        state.check_time_and_money()
        if state.limit is None and not plan.request.may_call:
            state.reach("calls", state.bounds.model_calls)
        if state.limit is None:
            live.show(_append_line(completion.text, _activity(calls)))
            await live.working()
            scope = replace(plan.scope, show=lambda line: live.show(_append_line(completion.text, line)))
            with suppress(Stopped), stop.guard():
                await executor.run(calls, scope, max(0.1, state.deadline.left), results)
            state.deadline.wait(executor.own_seconds)
        state.record_results(results)
        state.check_time_and_money()
        return not stop.requested and state.limit is None and executor.waiting is None and plan.request.may_call


def _outcome(plan: CallPlan, completion: Completion, failure: Failure | None, state: TurnState, stop: Stop) -> Outcome:
    error = failure if isinstance(failure, ModelError) else None
    if error is not None and stop.requested and not isinstance(error, BudgetExceeded):
        error = None
    last_text = state.last_text()
    if isinstance(error, BudgetExceeded) and last_text:
        state.reach("budget", float(error.reached.status.ceiling.dollars))
    elif error is not None and error.retryable and state.deadline.left < MIN_SECONDS:
        state.reach("seconds", state.deadline.seconds)
    answer: Completion | None = completion
    if isinstance(error, EmptyAnswer | BudgetExceeded) and last_text:
        answer = Completion(last_text, "cut", None, 0.0)
    elif error is not None:
        answer = None
    elif completion.calls:
        answer = Completion(last_text, "stopped" if stop.requested else "stop", None, 0.0)
    elif completion.text.strip():
        state.record_answer(completion.text, plan.choice.model)
    else:
        answer = replace(completion, text=last_text)
    return Outcome(
        decision=plan.decision,
        choice=plan.choice,
        fit=plan.fit,
        completion=answer,
        error=error if answer is None else None,
        messages=tuple(state.messages),
        calls=tuple(state.cost.calls),
        limit=state.limit,
        most_chars=emergency_chars(plan.window) if state.shortened else None,
        failed=tuple(state.failed),
        seconds=state.deadline.taken,
        first_token=state.first_token,
        over=error.reached if answer is None and isinstance(error, BudgetExceeded) else state.cost.over,
        waiting=state.executor.waiting,
    )


def _step(failure: Failure, plan: CallPlan, state: TurnState) -> Step:
    answer = state.answer
    situation = Situation(
        candidates=answer.candidates,
        asked=answer.asked + len(_like_failures(failure, plan)),
        tries=answer.tries,
        attempts=plan.contract.attempts,
        seconds_left=state.deadline.left,
        repeats=answer.repeats,
        shortened=state.shortened,
        larger=plan.widest > plan.window,
        siblings=answer.siblings,
    )
    return after(failure, situation, random.random())


def _like_failures(failure: Failure, plan: CallPlan) -> list[str]:
    """The fallbacks that would fail in the same way, with the same key or account."""
    if not (isinstance(failure, ModelError) and failure.shared):
        return []
    provider = provider_of(plan.choice.model)
    return [model for model in plan.choice.fallbacks if provider_of(model) == provider]


def _differs(request: ModelRequest, before: ModelRequest) -> bool:
    return (request.model, request.messages, request.tools) != (before.model, before.messages, before.tools)


async def _pause(step: Step, plan: CallPlan, live: LiveReply, stop: Stop) -> bool:
    """Wait as the step says, visibly if the provider asked for it; False: the person ended the turn."""
    if step.why == "asked to wait":
        live.show(waiting_line(plan.choice.model, step.seconds))
    await live.working()
    with suppress(Stopped), stop.guard():
        await asyncio.sleep(step.seconds)
        return True
    return False


def _activity(calls: Sequence[ToolCall]) -> str:
    """One line that names the tools at work, until the next words replace it."""
    names = list(dict.fromkeys(_NAME.sub("", call.name)[:40] for call in calls))
    more = f" +{len(names) - TOOLS_NAMED}" if len(names) > TOOLS_NAMED else ""
    return f"⚙️ {', '.join(f'`{name}`' for name in names[:TOOLS_NAMED])}{more} …"


def _append_line(text: str, line: str) -> str:
    return f"{text.strip()}\n\n{line}" if text.strip() else line
