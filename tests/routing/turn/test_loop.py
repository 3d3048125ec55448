"""The loop of model and tools: what runs when, and what the model sees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from routing.errors import ContextOverflow, ToolFailed, Unreachable
from routing.turn.tool_executor import AGAIN, STOPPED
from routing.types.stop import Stop
from routing.types.tools import ToolScope, Traits
from tests.fakes import FakeLlm, FakeToolbox, Seen, Step, calls, says
from tests.routing.turn.turn_loop import DECISION, PERSON, Planner, call, echo, results, run

pytestmark = pytest.mark.usefixtures("no_pause")


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
