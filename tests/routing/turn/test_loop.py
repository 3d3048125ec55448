"""The loop of model and tools: what runs when, what the model sees, where it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from routing.config.contracts import DEFAULT_CONTRACTS
from routing.config.sections import TurnBounds
from routing.errors import ContextOverflow, ToolFailed, Unreachable
from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.ports import Clock
from routing.turn.loop import TurnLoop
from routing.turn.state import LAST_CALL, CallPlan, TurnInput, TurnState
from routing.turn.tool_executor import AGAIN, STOPPED
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import ChatMessage, ModelRequest, ProviderProfile, ToolCall, Usage
from routing.types.people import Person
from routing.types.stop import Stop
from routing.types.tools import ToolScope, Traits
from routing.types.turns import Limit, Outcome, PromptFit
from routing.types.usage import CallRecord
from tests.fakes import FakeLlm, FakeToolbox, Seen, Step, calls, says
from tests.routing.turn.samples import NOT_READ, turn_cost, turn_state

PERSON = Person(1, "user", "Ann")
PROFILE = ProviderProfile("openai", "openai", None, "k", 30.0, "OPENAI_API_KEY")
DECISION = TierDecision("balanced", "default", "default")
CHOICE = ModelChoice("openai/m", None, "configured")
CONTRACT = DEFAULT_CONTRACTS["balanced"]

pytestmark = pytest.mark.usefixtures("no_pause")


class Planner:
    """Sends the question and all later messages to the model."""

    def __init__(self, bounds: TurnBounds | None = None, most_chars: int = 100_000) -> None:
        self.bounds = bounds or TurnBounds()
        self.deadline = Deadline(lambda: 0.0, self.bounds.seconds)
        self.most_chars = most_chars
        self.cost = turn_cost()
        self.shortened: list[int] = []

    async def __call__(self, turn: TurnInput, state: TurnState) -> CallPlan:
        if state.shorten_to is not None:
            self.shortened.append(state.shorten_to)
            state.shorten_to = None
        messages = (ChatMessage("user", "question"), *state.prompt())
        request = ModelRequest("balanced", "openai/m", messages, PROFILE, None, None, may_call=state.may_call_tools)
        scope = ToolScope(PERSON, 7, DECISION)
        return CallPlan(DECISION, CONTRACT, CHOICE, request, scope, PromptFit(1, 2, 0), 1000)


async def echo(given: Mapping[str, Any]) -> str:
    return f"echo {given.get('text', '')}"


def call(name: str, arguments: str = "{}", id: str = "") -> ToolCall:
    return ToolCall(id or f"{name} {arguments}", name, arguments)


async def run(
    llm: FakeLlm,
    toolbox: FakeToolbox,
    planner: Planner | None = None,
    live: Seen | None = None,
    stop: Stop | None = None,
    tick: float = 0.001,
    clock: Clock | None = None,
) -> Outcome:
    ticks = count()
    clock = clock or (lambda: next(ticks) * tick)
    planner = planner or Planner()
    planner.deadline = Deadline(clock, planner.bounds.seconds)
    state = turn_state(toolbox, planner.bounds, planner.deadline, planner.most_chars)
    state.cost = planner.cost
    loop = TurnLoop(ModelCaller(llm, ModelHealth(clock), clock), planner)
    return await loop.run(NOT_READ, state, live or Seen(), stop or Stop())


def results(outcome: Outcome) -> list[str]:
    return [message.text for message in outcome.messages if message.role == "tool"]


async def test_the_model_gets_tool_results_and_answers() -> None:
    llm = FakeLlm(calls(call("echo", '{"text": "hi"}'), text="Let me see."), says("It said hi."))
    toolbox, seen = FakeToolbox({"echo": echo}), Seen()
    outcome = await run(llm, toolbox, live=seen)
    assert outcome.completion is not None
    assert outcome.completion.text == "It said hi."
    assert [message.role for message in outcome.messages] == ["assistant", "tool", "assistant"]
    assert llm.asked[1].messages[1:] == outcome.messages[:2]
    assert outcome.messages[1].call_id == outcome.messages[0].calls[0].id
    assert outcome.messages[1].text == "echo hi"
    assert seen.texts == ["Let me see.", "Let me see.\n\n⚙️ `echo` …", "It said hi."]
    assert len(outcome.calls) == 2
    assert outcome.limit is None
    assert toolbox.scopes == [ToolScope(PERSON, 7, DECISION)]


async def test_a_council_takes_no_time_and_no_calls_of_the_turn() -> None:
    now, planner = [0.0], Planner(TurnBounds(model_calls=3, seconds=60.0))

    async def council(given: Mapping[str, Any]) -> str:
        loop = asyncio.get_running_loop()
        usual = loop.time
        loop.time = lambda: usual() + 500.0  # type: ignore[method-assign]
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


async def test_parallel_tools_run_concurrently_and_answer_in_order() -> None:
    gate = asyncio.Event()

    async def slow(given: Mapping[str, Any]) -> str:
        await gate.wait()
        return "slow"

    async def opens(given: Mapping[str, Any]) -> str:
        gate.set()
        return "opened"

    llm = FakeLlm(calls(call("slow"), call("opens"), call("write"), call("echo")), says("done"))
    tools = {"slow": slow, "opens": opens, "write": echo, "echo": echo}
    toolbox = FakeToolbox(tools, write=Traits(changes=True))
    outcome = await run(llm, toolbox)
    assert results(outcome) == ["slow", "opened", "echo ", "echo "]
    assert toolbox.ended == ["opens {}", "slow {}", "write {}", "echo {}"]
    assert toolbox.began.index("write {}") > 1
    assert toolbox.began[-1] == "echo {}"


async def test_repeated_calls_are_cached_until_something_changes() -> None:
    one, same = call("read", '{"a": 1, "b": 2}', "1"), call("read", '{"b":2,"a":1}', "2")
    llm = FakeLlm(
        calls(one, same),
        calls(replace(one, id="3")),
        calls(call("write", id="4"), replace(one, id="5")),
        calls(call("write", id="6")),
        says("done"),
    )
    toolbox = FakeToolbox({"read": echo, "write": echo}, write=Traits(changes=True))
    outcome = await run(llm, toolbox)
    assert toolbox.began == ["1", "4", "5"]
    assert [text.endswith(AGAIN) for text in results(outcome)] == [False, True, True, False, False, True]


async def test_a_failing_tools_reason_reaches_the_model() -> None:
    async def fails(given: Mapping[str, Any]) -> str:
        raise ToolFailed("There is no file a.txt; there is b.txt.")

    llm = FakeLlm(calls(call("fails"), call("nothing")), says("sorry"))
    outcome = await run(llm, FakeToolbox({"fails": fails}))
    assert results(outcome) == ["Error: There is no file a.txt; there is b.txt.", "Error: There is no tool nothing."]


async def test_wrong_arguments_are_corrected_once() -> None:
    wrong = [calls(call("echo", text, text)) for text in ("{", "{{", "{{{")]
    outcome = await run(FakeLlm(*wrong, says("without it then")), FakeToolbox({"echo": echo}))
    first, second, third = results(outcome)
    assert first == "Error: not JSON"
    assert second == third != first
    assert "go on without echo" in second


async def test_a_hanging_tool_is_cancelled() -> None:
    async def hangs(given: Mapping[str, Any]) -> str:
        await asyncio.Event().wait()
        return "never"

    toolbox = FakeToolbox({"hangs": hangs, "echo": echo}, hangs=Traits(seconds=0.01))
    outcome = await run(FakeLlm(calls(call("hangs"), call("echo")), says("ok")), toolbox)
    assert "hangs timed out after" in results(outcome)[0]
    assert results(outcome)[1] == "echo "
    assert toolbox.ended == ["echo {}"]


async def test_a_long_result_is_truncated() -> None:
    async def floods(given: Mapping[str, Any]) -> str:
        return "x" * 500_000

    outcome = await run(FakeLlm(calls(call("floods")), says("ok")), FakeToolbox({"floods": floods}))
    assert len(results(outcome)[0]) <= 100_000
    assert "[OUTPUT TRUNCATED: 500000 chars total" in results(outcome)[0]


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


async def test_stop_cancels_a_tool_and_the_turn_stays_complete() -> None:
    stop = Stop()

    async def hangs(given: Mapping[str, Any]) -> str:
        stop.request()
        await asyncio.Event().wait()
        return "never"

    llm = FakeLlm(calls(call("echo"), call("hangs"), text="Working."), says("never"))
    toolbox = FakeToolbox({"echo": echo, "hangs": hangs}, hangs=Traits(parallel=False))
    outcome = await run(llm, toolbox, stop=stop)
    assert outcome.completion is not None
    assert (outcome.completion.finish, outcome.completion.text, llm.made) == ("stopped", "Working.", 1)
    assert results(outcome) == ["echo ", STOPPED]


async def test_an_overflow_is_shortened_and_retried() -> None:
    async def floods(given: Mapping[str, Any]) -> str:
        return "x" * 50_000

    overflow: list[Step] = [ContextOverflow("m", "too long")]
    toolbox = FakeToolbox({"floods": floods})
    planner = Planner()
    llm = FakeLlm(calls(call("floods")), overflow, says("shorter"))
    outcome = await run(llm, toolbox, planner)
    assert outcome.completion is not None
    assert outcome.completion.text == "shorter"
    assert planner.shortened == [512]
    assert len(results(outcome)[0]) <= 10_000
    assert "[EMERGENCY TRUNCATED: 50000 chars total" in llm.asked[2].messages[-1].text

    again = FakeLlm(overflow, overflow, says("never"))
    outcome = await run(again, toolbox)
    assert isinstance(outcome.error, ContextOverflow)
    assert again.made == 1, "nothing is sent twice"

    later = FakeLlm(calls(call("floods")), overflow, overflow, says("never"))
    outcome = await run(later, toolbox)
    assert isinstance(outcome.error, ContextOverflow)
    assert later.made == 3, "cut once, there is nothing left to cut"


async def test_an_empty_final_answer_uses_the_earlier_text() -> None:
    silent: list[Step] = []
    llm = FakeLlm(calls(call("echo"), text="Here is the plan."), silent, silent)
    outcome = await run(llm, FakeToolbox({"echo": echo}))
    assert outcome.completion is not None
    assert outcome.completion.text == "Here is the plan."


async def test_a_failure_after_tools_keeps_their_results() -> None:
    down: list[Step] = [Unreachable("m", "down")]
    outcome = await run(FakeLlm(calls(call("echo")), down, down), FakeToolbox({"echo": echo}))
    assert isinstance(outcome.error, Unreachable)
    assert [each.role for each in outcome.messages] == ["assistant", "tool"]
