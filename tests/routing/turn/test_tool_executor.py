"""The tool calls of a turn: each distinct one runs once, none longer than the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from routing.errors import ToolFailed
from routing.turn.tool_executor import AGAIN, ToolExecutor
from routing.types.decisions import TierDecision
from routing.types.llm import ToolCall
from routing.types.people import Person
from routing.types.tools import ToolScope, Traits
from tests.fakes import FakeToolbox

SCOPE = ToolScope(Person(1, "user", "Ann"), 7, TierDecision("balanced", "default", "default"))


def executor(toolbox: FakeToolbox) -> ToolExecutor:
    return ToolExecutor(toolbox, 40, 100_000)


async def ran(made: ToolExecutor, *calls: ToolCall, seconds: float = 30.0) -> list[str]:
    """The results in the order of the calls."""
    results = made.not_run(calls)
    async with asyncio.timeout(60):
        await made.run(calls, SCOPE, seconds, results)
    return [each.content for each in results]


async def test_equal_parallel_calls_run_once() -> None:
    async def slow(given: Mapping[str, Any]) -> str:
        for _ in range(3):
            await asyncio.sleep(0)  # a concurrent call starts now
        return "slow"

    toolbox = FakeToolbox({"slow": slow})
    results = await ran(
        executor(toolbox), ToolCall("1", "slow", '{"a": 1, "b": 2}'), ToolCall("2", "slow", '{"b":2,"a":1}')
    )
    assert toolbox.began == ["1"]
    assert results == ["slow", f"slow{AGAIN}"]


async def test_failed_calls_are_not_cached() -> None:
    async def works_later(given: Mapping[str, Any]) -> str:
        if len(toolbox.began) == 1:
            raise ToolFailed("The network is down.")
        return "up"

    toolbox = FakeToolbox({"works_later": works_later})
    made, call = executor(toolbox), ToolCall("1", "works_later", "{}")
    assert await ran(made, call) == ["Error: The network is down."]
    assert await ran(made, call) == ["up"]
    assert await ran(made, call) == [f"up{AGAIN}"]
    assert len(toolbox.began) == 2


async def test_no_tool_outlives_its_turn() -> None:
    async def hangs(given: Mapping[str, Any]) -> str:
        await asyncio.Event().wait()
        return "never"

    toolbox = FakeToolbox({"hangs": hangs}, hangs=Traits(seconds=3600.0))
    assert "hangs timed out after" in (await ran(executor(toolbox), ToolCall("1", "hangs", "{}"), seconds=0.01))[0]
    assert toolbox.ended == []


async def test_a_tool_with_its_own_limit_does_not_use_turn_time() -> None:
    async def long(given: Mapping[str, Any]) -> str:
        loop: Any = asyncio.get_running_loop()
        usual = loop.time
        loop.time = lambda: usual() + 100.0
        return "long"

    async def short(given: Mapping[str, Any]) -> str:
        return "short"

    made = executor(FakeToolbox({"long": long, "short": short}, long=Traits(seconds=200.0, own_time=True)))
    calls = [ToolCall("1", "long", "{}"), ToolCall("2", "short", "{}")]
    results = made.not_run(calls)
    await made.run(calls, SCOPE, 30.0, results)
    assert [each.content for each in results] == ["long", "short"]
    assert made.own_seconds >= 100.0


async def test_a_tools_own_time_limit_applies() -> None:
    async def hangs(given: Mapping[str, Any]) -> str:
        await asyncio.Event().wait()
        return "never"

    toolbox = FakeToolbox({"hangs": hangs}, hangs=Traits(seconds=0.01, own_time=True))
    assert "hangs timed out after" in (await ran(executor(toolbox), ToolCall("1", "hangs", "{}")))[0]
