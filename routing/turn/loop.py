"""The model ⇄ tool loop of one turn, bounded in calls, tools, time and money."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Protocol

from routing.config.turn_limits import TurnBounds
from routing.errors import EmptyAnswer, ModelError
from routing.policy.failover import LEAST_SECONDS
from routing.ports import LiveReply, Tools
from routing.turn.pursuit import Brief, Course, Pursuit, Tried
from routing.turn.tool_executor import ToolRounds, messages
from routing.turn.truncation import emergency_all, emergency_chars
from routing.types.budgets import OverBudget
from routing.types.deadline import Deadline
from routing.types.llm import ChatMessage, Completion, ToolCall
from routing.types.stop import Stop
from routing.types.turns import Bound, Limit, Outcome
from routing.types.usage import Bill, CallRecord

LAST_CALL = "\n\n[This turn may call no more tools: answer now with what there is, and say what is missing.]"
TOOLS_NAMED = 3
_NAME = re.compile(r"[^\w-]")

log = logging.getLogger("routing")


class Briefing(Protocol):
    """Decides before each call of a turn. On the `bill` is all that the turn took, a summary's calls, too."""

    bounds: TurnBounds
    deadline: Deadline
    most_result_chars: int
    bill: Bill

    @property
    def tools(self) -> Tools:
        """What runs the tools that the models call."""

    async def next(self, said: Sequence[ChatMessage], may_call: bool, tried: Tried) -> Brief:
        """What the next call gets, with all that was said in the turn so far, and who is not asked again."""

    async def shorten(self, window: int) -> None:
        """The prompt did not fit into `window` tokens: cut what is stored, and tell less from now on."""


@dataclass(slots=True)
class _State:
    """What has come of a turn so far."""

    rounds: ToolRounds
    deadline: Deadline
    said: list[ChatMessage] = field(default_factory=list)
    tried: Tried = field(default_factory=Tried)
    limit: Limit | None = None
    first_token: float | None = None

    def last_words(self) -> str:
        """What the model said last before it called a tool."""
        return next((each.text for each in reversed(self.said) if each.role == "assistant" and each.text.strip()), "")


class Turn:
    """Runs a turn to its end; it always has one."""

    def __init__(self, pursuit: Pursuit) -> None:
        self._pursuit = pursuit

    async def run(self, briefing: Briefing, live: LiveReply, stop: Stop, begun: Sequence[ChatMessage] = ()) -> Outcome:
        """From the first call to the answer; `begun` was said in the turn already. A model's failure is an outcome,
        too."""
        rounds = ToolRounds(briefing.tools, briefing.bounds.tool_calls, briefing.most_result_chars)
        state = _State(rounds, briefing.deadline, list(begun))
        while True:
            brief = await self._decide(briefing, state)
            error: ModelError | None = None
            completion: Completion | None = None
            try:
                brief, completion = await self._complete(briefing, brief, state, live, stop)
            except ModelError as failure:
                error = failure
                self._note_failure(failure, state)
            if completion is not None and completion.calls:
                await self._use_tools(completion, brief, state, briefing, live, stop)
                if self._goes_on(state, briefing, stop, brief):
                    continue
                completion = Completion(state.last_words(), "stopped" if stop.requested else "stop", None, 0.0)
            elif completion is not None and completion.text.strip():
                state.said.append(ChatMessage("assistant", completion.text, made_by=brief.choice.model))
            elif isinstance(error, (EmptyAnswer, OverBudget)) and state.last_words():
                completion, error = Completion(state.last_words(), "cut", None, 0.0), None
            elif completion is not None:
                completion = replace(completion, text=state.last_words())
            return Outcome(
                decision=brief.decision,
                choice=brief.choice,
                fit=brief.fit,
                completion=completion,
                error=error,
                said=tuple(state.said),
                calls=tuple(briefing.bill.calls),
                limit=state.limit,
                most_chars=emergency_chars(brief.window) if state.tried.shortened else None,
                failed=tuple(state.tried.failed),
                seconds=state.deadline.taken,
                first_token=state.first_token,
                over=error.reached if isinstance(error, OverBudget) else briefing.bill.over,
                waiting=rounds.waiting,
            )

    async def _decide(self, briefing: Briefing, state: _State) -> Brief:
        """What the next call gets. Where a summary took what was left, this call is for the answer."""
        last = self._is_last_call(state, briefing)
        brief = await briefing.next(_last_call(state.said) if last else state.said, not last, state.tried)
        if last:
            return brief
        self._note_exhaustion(state, briefing)
        if not self._is_last_call(state, briefing):
            return brief
        return await briefing.next(_last_call(state.said), False, state.tried)

    async def _complete(
        self, briefing: Briefing, brief: Brief, state: _State, live: LiveReply, stop: Stop
    ) -> tuple[Brief, Completion]:
        """One answer, of whichever model gives it; a prompt that was too long is cut once in a turn."""

        async def shorten(window: int) -> None:
            state.said[:] = emergency_all(state.said, window)
            await briefing.shorten(window)

        began = state.deadline.taken
        course = Course(lambda: self._decide(briefing, state), shorten, state.tried, state.deadline, briefing.bill)
        brief, completion = await self._pursuit.complete(brief, course, live, stop)
        if state.first_token is None and completion.first_token is not None:
            state.first_token = began + completion.first_token
        if completion.finish == "late" and state.deadline.passed:
            self._reached(state, "seconds", state.deadline.seconds)
        return brief, completion

    async def _use_tools(
        self, completion: Completion, brief: Brief, state: _State, briefing: Briefing, live: LiveReply, stop: Stop
    ) -> None:
        """Run what the model asked for, unless a bound is reached; every call has a result at the end."""
        calls, thinking = completion.calls, completion.thinking
        asked = ChatMessage("assistant", completion.text, (), calls, brief.choice.model, thinking)
        state.said.append(asked)
        results: dict[int, str] = {}
        self._note_exhaustion(state, briefing)
        if state.limit is None and not brief.request.may_call:
            self._reached(state, "calls", briefing.bounds.model_calls)
        if state.limit is None:
            live.show(_activity(completion.text, calls))
            await live.working()
            seconds = max(0.1, state.deadline.left)
            scope = replace(brief.scope, show=lambda line: live.show(_below(completion.text, line)))
            await stop.guard(state.rounds.run(calls, scope, seconds, results))
            state.deadline.wait(state.rounds.own_seconds)
        state.said += messages(calls, results)

    def _goes_on(self, state: _State, briefing: Briefing, stop: Stop, brief: Brief) -> bool:
        self._note_exhaustion(state, briefing)
        over = stop.requested or state.limit is not None or state.rounds.waiting is not None
        return not over and brief.request.may_call

    def _note_failure(self, error: ModelError, state: _State) -> None:
        """Where a bound is why nobody else is asked."""
        if isinstance(error, OverBudget) and state.last_words():
            self._reached(state, "budget", float(error.reached.standing.ceiling.dollars))
        elif error.retryable and state.deadline.left < LEAST_SECONDS:
            self._reached(state, "seconds", state.deadline.seconds)

    def _note_exhaustion(self, state: _State, briefing: Briefing) -> None:
        """Time or money is used up: no call more, but for the answer where a summary took it."""
        bounds = briefing.bounds
        if bounds.dollars is not None and spent(briefing.bill.calls) >= bounds.dollars:
            self._reached(state, "money", float(bounds.dollars))
        elif state.deadline.left < (LEAST_SECONDS if state.said else 0.0) or state.deadline.passed:
            self._reached(state, "seconds", state.deadline.seconds)

    def _is_last_call(self, state: _State, briefing: Briefing) -> bool:
        """Calls of models or of tools are used up but for one, which is for the answer."""
        if state.limit is not None:
            return True
        bounds = briefing.bounds
        no_more = briefing.bill.counted + 1 >= bounds.model_calls
        if not state.said:
            return no_more
        if state.rounds.refused:
            self._reached(state, "tools", bounds.tool_calls)
        elif no_more:
            self._reached(state, "calls", bounds.model_calls)
        return state.limit is not None

    def _reached(self, state: _State, bound: Bound, value: float) -> None:
        log.warning("[Turn] Reached its limit of %s: %g", bound, value)
        state.limit = Limit(bound, value)


def spent(calls: Iterable[CallRecord]) -> Decimal:
    """US dollars, of the calls whose price is known."""
    return sum((each.usage.cost for each in calls if each.usage and each.usage.cost), Decimal(0))


def _last_call(said: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The model is told; what is remembered stays without it."""
    return [*said[:-1], replace(said[-1], text=said[-1].text + LAST_CALL)] if said else said


def _activity(text: str, calls: Sequence[ToolCall]) -> str:
    """What was said so far, and one line that disappears with the next words: which tools are at work."""
    names = list(dict.fromkeys(_NAME.sub("", call.name)[:40] for call in calls))
    more = f" +{len(names) - TOOLS_NAMED}" if len(names) > TOOLS_NAMED else ""
    line = f"⚙️ {', '.join(f'`{name}`' for name in names[:TOOLS_NAMED])}{more} …"
    return _below(text, line)


def _below(text: str, line: str) -> str:
    return f"{text.strip()}\n\n{line}" if text.strip() else line
