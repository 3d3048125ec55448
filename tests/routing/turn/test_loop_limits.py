"""The limits of a turn: model calls, tool calls, money and time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from routing.config.sections import TurnBounds
from routing.turn.state import LAST_CALL, CallPlan, TurnInput, TurnState
from routing.types.llm import Usage
from routing.types.tools import Traits
from routing.types.turns import Limit
from routing.types.usage import CallRecord
from tests.fakes import FakeLlm, FakeToolbox, calls, says
from tests.routing.turn.turn_loop import Planner, call, echo, results, run

pytestmark = pytest.mark.usefixtures("no_pause")


async def test_a_council_takes_no_time_and_no_calls_of_the_turn() -> None:
    now, planner = [0.0], Planner(TurnBounds(model_calls=3, seconds=60.0))

    async def council(given: Mapping[str, Any]) -> str:
        loop: Any = asyncio.get_running_loop()
        usual = loop.time
        loop.time = lambda: usual() + 500.0
        now[0] += 500.0
        planner.cost.calls += [CallRecord("deep", "openai/m", None, 1.0)] * 7
        planner.cost.consulted += 7
        return "All agree."

    llm = FakeLlm(calls(call("council")), says("All agree."))
    toolbox = FakeToolbox({"council": council}, council=Traits(own_time=True))
    outcome = await run(llm, toolbox, planner, clock=lambda: now[0])
    assert outcome.completion is not None
    assert outcome.completion.text == "All agree."
    assert outcome.limit is None
    assert len(outcome.calls) == 9
    assert outcome.seconds < 60.0


@pytest.mark.parametrize(
    ("bounds", "made", "ran", "limit"),
    [
        (TurnBounds(model_calls=4), 4, 3, Limit("calls", 4)),
        (TurnBounds(tool_calls=2), 4, 2, Limit("tools", 2)),
        (TurnBounds(dollars=Decimal("0.25")), 3, 2, Limit("money", 0.25)),
        (TurnBounds(model_calls=1), 1, 0, Limit("calls", 1)),
    ],
    ids=["calls", "tools", "money", "one call"],
)
async def test_an_endless_loop_is_bounded(bounds: TurnBounds, made: int, ran: int, limit: Limit) -> None:
    price = Usage(1, 1, cost=Decimal("0.1"))
    endless = [calls(call("echo", f'{{"text": "{n}"}}'), text=f"step {n}", usage=price) for n in range(9)]
    llm, toolbox = FakeLlm(*endless), FakeToolbox({"echo": echo})
    outcome = await run(llm, toolbox, Planner(bounds))
    assert (llm.made, len(toolbox.began), outcome.limit) == (made, ran, limit)
    assert outcome.completion is not None
    assert outcome.completion.text == f"step {made - 1}"
    pairs = sum(len(message.calls) for message in outcome.messages), len(results(outcome))
    assert pairs[0] == pairs[1] == made, "every call has its result, so that the history can be sent again"


class Summing(Planner):
    """Writes a summary before one of the turn's calls, with `times` more calls at 10 cents each."""

    def __init__(self, bounds: TurnBounds, before: int, times: int) -> None:
        super().__init__(bounds)
        self._before = before
        self._times = times

    async def __call__(self, turn: TurnInput, state: TurnState) -> CallPlan:
        own = sum(message.role == "assistant" for message in state.messages)
        if own + 1 == self._before and self._times:
            price = Usage(1, 1, cost=Decimal("0.1"))
            self.cost.calls += [CallRecord("balanced", "openai/s", price, 1.0)] * self._times
            self._times = 0
        return await super().__call__(turn, state)


@pytest.mark.parametrize(
    ("bounds", "before", "times", "may_call", "limit"),
    [
        (TurnBounds(model_calls=5), 1, 2, [True, True, False], Limit("calls", 5)),
        (TurnBounds(model_calls=5), 2, 3, [True, False], Limit("calls", 5)),
        (TurnBounds(model_calls=5), 1, 4, [False], Limit("calls", 5)),
        (TurnBounds(dollars=Decimal("0.45")), 1, 3, [True, True], Limit("money", 0.45)),
        (TurnBounds(dollars=Decimal("0.25")), 1, 3, [False], Limit("money", 0.25)),
        (TurnBounds(dollars=Decimal("0.25")), 2, 3, [True, False], Limit("money", 0.25)),
    ],
    ids=["calls", "all calls but one", "at once", "money", "all money at once", "all money"],
)
async def test_a_summary_counts_towards_the_turns_limits(
    bounds: TurnBounds, before: int, times: int, may_call: list[bool], limit: Limit
) -> None:
    price = Usage(1, 1, cost=Decimal("0.1"))
    endless = [calls(call("echo", f'{{"text": "{n}"}}'), text=f"step {n}", usage=price) for n in range(9)]
    llm = FakeLlm(*endless)
    outcome = await run(llm, FakeToolbox({"echo": echo}), Summing(bounds, before, times))
    assert [request.may_call for request in llm.asked] == may_call
    assert outcome.limit == limit
    assert len(outcome.calls) == times + len(may_call)
    assert outcome.completion is not None
    assert LAST_CALL in llm.asked[-1].messages[-1].text or may_call[-1] or len(may_call) == 1


async def test_the_last_call_is_for_the_answer() -> None:
    llm = FakeLlm(calls(call("echo")), calls(call("echo", '{"text": "x"}')), says("what there is"))
    outcome = await run(llm, FakeToolbox({"echo": echo}), Planner(TurnBounds(tool_calls=1)))
    assert [request.may_call for request in llm.asked] == [True, True, False]
    assert llm.asked[2].messages[-1].text.endswith(LAST_CALL)
    assert LAST_CALL not in "".join(results(outcome)), "what is remembered does not forbid tools to the next turn"
    assert outcome.completion is not None
    assert outcome.completion.text == "what there is"
    assert outcome.limit == Limit("tools", 1)


async def test_using_all_tool_calls_is_not_exceeding_the_limit() -> None:
    llm = FakeLlm(calls(call("echo")), says("all there is"))
    outcome = await run(llm, FakeToolbox({"echo": echo}), Planner(TurnBounds(tool_calls=1)))
    assert outcome.limit is None
    assert [request.may_call for request in llm.asked] == [True, True]


async def test_calls_beyond_the_limit_are_not_run() -> None:
    many = [call("echo", f'{{"text": "{n}"}}') for n in range(5)]
    toolbox = FakeToolbox({"echo": echo})
    outcome = await run(FakeLlm(calls(*many), says("ok")), toolbox, Planner(TurnBounds(tool_calls=3)))
    assert len(toolbox.began) == 3
    assert [text.startswith("Error: not run") for text in results(outcome)] == [False, False, False, True, True]


async def test_time_ends_a_turn() -> None:
    endless = [calls(call("echo", f'{{"text": "{n}"}}')) for n in range(99)]
    outcome = await run(FakeLlm(*endless), FakeToolbox({"echo": echo}), Planner(TurnBounds(seconds=5)), tick=0.5)
    assert outcome.limit == Limit("seconds", 5.0)
    assert outcome.completion is not None
