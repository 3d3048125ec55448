"""Whatever a server does, the others and the bot keep working, and it is restarted. Real processes, raw JSON-RPC."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from routing.errors import ToolFailed
from tests.fakes import later
from tests.handlers.tools.mcp.harness import CALL_SECONDS, QUICK, McpHarness, mcp_harness

EMPTY = {"type": "object", "properties": {}}
LOOP_TURNS = 100
"""Turns of the event loop in which a request is certainly written to the pipe."""


async def unanswered(on: McpHarness, name: str) -> str:
    """Calls a tool that does not answer, and advances the event loop's clock beyond the time limit."""
    calling = asyncio.create_task(on.call(name))
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)
    later(CALL_SECONDS)
    return await calling


async def with_good(on: McpHarness, *names: str) -> None:
    """Start, and see that the good one works while the others do what they do."""
    on.server("good")
    await on.started("good", *names)
    assert await on.call("good_echo", a=1) == 'echo {"a": 1}'


@pytest.mark.parametrize("start", ["hang", "line"])
async def test_a_server_that_hangs_or_floods_at_the_start(tmp_path: Path, start: str) -> None:
    async with mcp_harness(tmp_path, replace(QUICK, start_seconds=0.5)) as on:
        on.server("bad", {"start": start}, timeout=0.5)
        on.server("good", timeout=60)
        await on.client.start()
        await on.until(lambda: on.state("bad").status == "failed" and on.state("good").status == "connected")
        assert on.state("bad").reason.startswith("it did not answer within 0.5 s")
        assert await on.call("good_echo") == "echo {}"
        on.plan("bad")
        on.server("bad", {}, timeout=60)
        await on.client.refresh()
        await on.connected("bad")


async def test_a_server_that_exits_at_the_start_is_explained_and_restarted(on: McpHarness) -> None:
    on.server("bad", {"start": "die"})
    await with_good(on)
    await on.until(lambda: on.state("bad").status == "failed")
    assert on.state("bad").reason == "it ended with exit code 4; last output: bad TOKEN-123456 given"
    with pytest.raises(ToolFailed, match="no tool bad_echo"):
        await on.call("bad_echo")
    on.plan("bad")
    await on.connected("bad")
    assert await on.call("bad_echo") == "echo {}"


async def test_a_server_that_rejects_the_newest_protocol(on: McpHarness) -> None:
    on.server("old", {"start": "strict"})
    await on.started("old")
    assert await on.call("old_echo") == "echo {}"


async def test_reasons_are_redacted(tmp_path: Path) -> None:
    async with mcp_harness(tmp_path, environment={"PATH": "/usr/bin:/bin", "KEY": "TOKEN-123456"}) as on:
        on.server("bad", {"start": "die"}, env={"API": "${KEY}"})
        await on.client.start()
        await on.until(lambda: on.state("bad").status == "failed")
        assert on.state("bad").reason.endswith("bad ••• given")


async def test_a_missing_program(on: McpHarness) -> None:
    on.entry("bad", {"command": "no-such-program", "args": []})
    await with_good(on)
    await on.until(lambda: on.state("bad").status == "failed")
    assert on.state("bad").reason == "no-such-program is not there: install it, or fix command or cwd in mcp.json"


@pytest.mark.parametrize("tool", ["die", "leave"])
async def test_a_server_that_dies_during_a_call(on: McpHarness, tool: str) -> None:
    """Also if a child that it leaves behind holds its stdout."""
    on.server("bad", {"tools": [tool, "pid"]})
    await with_good(on, "bad")
    before = await on.call("bad_pid")
    with pytest.raises(ToolFailed, match=f"ended in the middle of {tool}, which may have done part of its work"):
        await on.call(f"bad_{tool}")
    assert await on.call("good_echo") == "echo {}"
    await on.until(lambda: on.state("bad").status != "connected")
    await on.connected("bad")
    assert await on.call("bad_pid") != before


async def test_an_unanswered_call_is_cancelled_at_the_server(on: McpHarness) -> None:
    on.server("bad", {"tools": ["hang", "pid"]})
    await with_good(on, "bad")
    before = await on.call("bad_pid")
    with pytest.raises(ToolFailed, match="hang of bad did not answer within 20 s and was told to stop"):
        await unanswered(on, "bad_hang")
    await on.until(lambda: "bad_was_cancelled" in on.names())
    assert await on.call("bad_pid") == before, "it responds, so it is kept"


async def test_stopping_a_turn_cancels_the_call(on: McpHarness) -> None:
    on.server("bad", {"tools": ["hang", "echo"]})
    await with_good(on, "bad")
    calling = asyncio.create_task(on.call("bad_hang"))
    await on.call("bad_echo")  # after the other in the same pipe
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await on.until(lambda: "bad_was_cancelled" in on.names())


@pytest.mark.parametrize("tool", ["stop", "deaf"])
async def test_a_silent_server_is_restarted(on: McpHarness, tool: str) -> None:
    on.server("bad", {"tools": [tool, "echo", "pid"]})
    await with_good(on, "bad")
    before = await on.call("bad_pid")
    if tool == "deaf":
        assert await on.call("bad_deaf") == "from now on"
    with pytest.raises(ToolFailed, match="did not answer within 20 s"):
        await unanswered(on, "bad_echo" if tool == "deaf" else "bad_stop")
    assert await on.call("good_echo") == "echo {}"
    while on.state("bad").status == "connected":  # until the request for its tools is too late, too
        later(CALL_SECONDS)
        await asyncio.sleep(0)
    await on.connected("bad")
    assert await on.call("bad_pid") != before


async def test_garbage_lines_are_skipped(on: McpHarness) -> None:
    on.server("bad", {"start": "greet", "tools": ["garbage"]})
    await with_good(on, "bad")
    assert await on.call("bad_garbage") == "still here"


async def test_a_long_result_is_truncated_and_says_so(on: McpHarness) -> None:
    on.server("bad", {"tools": ["huge", "echo"]})
    await with_good(on, "bad")
    cut = await on.call("bad_huge", size=1_500_000)
    assert len(cut) < 1_000_100
    assert cut.endswith("[cut: the result has 1,500,000 characters; ask for less]")
    with pytest.raises(ToolFailed, match="the answer is larger than 4 MB; ask for less"):
        await on.call("bad_huge", size=5_000_000)
    assert await on.call("bad_echo") == "echo {}", "the connection holds"


async def test_floods_of_notifications_requests_and_stderr(on: McpHarness) -> None:
    on.server("loud", {"tools": ["flood"]}, timeout=100)
    on.server("asks", {"tools": ["ask"]}, timeout=100)
    on.server("shouts", {"tools": ["shout"]}, timeout=100)
    await with_good(on, "loud", "asks", "shouts")
    floods = [
        asyncio.create_task(on.call("loud_flood", count=1_500)),
        asyncio.create_task(on.call("asks_ask", count=1_500)),
        asyncio.create_task(on.call("shouts_shout", size=10_000_000)),
    ]
    assert await on.call("good_echo") == "echo {}"
    assert await asyncio.gather(*floods) == ["done", "done", "done"]


async def test_a_flood_without_end_is_read_slowly(tmp_path: Path) -> None:
    """At these limits the flood would take hours; the call ends in time, and the others do not wait."""
    async with mcp_harness(tmp_path, replace(QUICK, messages_per_second=5, burst_seconds=0.1)) as on:
        on.server("loud", {"tools": ["flood"]})
        await with_good(on, "loud")
        flood = asyncio.create_task(on.call("loud_flood", count=100_000))
        assert await on.call("good_echo") == "echo {}"
        later(CALL_SECONDS)
        with pytest.raises(ToolFailed, match="did not answer within 20 s"):
            await flood
        assert await on.call("good_echo") == "echo {}"


async def test_bad_tools_are_rejected_with_reasons(on: McpHarness) -> None:
    bad = [
        {"name": "no_schema"},
        {"name": "a_list", "inputSchema": {"type": "array"}},
        {"name": "not_a_schema", "inputSchema": {"type": "object", "properties": {"x": {"type": "wrong"}}}},
        {"name": "elsewhere", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://a.b/c"}}}},
        {"name": "nowhere", "inputSchema": {**EMPTY, "allOf": [{"$ref": "#/$defs/gone"}]}},
        {"name": "endless", "inputSchema": {**EMPTY, "allOf": [{"$ref": "#"}]}},
        {"name": "long", "inputSchema": {**EMPTY, "description": "x" * 40_000}},
        {"name": "properties", "inputSchema": {"type": "object", "properties": [1]}},
        {"name": 5, "inputSchema": EMPTY},
        {"inputSchema": EMPTY},
        {
            "name": "echo",
            "inputSchema": EMPTY,
            "annotations": "no",
            "_meta": 3,
            "title": 5,
            "outputSchema": 1,
        },
        {"name": "echo", "inputSchema": EMPTY},
    ]
    on.server("bad", {"tools": bad})
    await with_good(on, "bad")
    assert [name for name in on.names() if name.startswith("bad_")] == ["bad_echo"]
    assert await on.call("bad_echo") == "echo {}"
    told = "\n".join(on.state("bad").warnings)
    for name in ("no_schema", "a_list", "not_a_schema", "elsewhere", "nowhere", "endless", "long", "properties"):
        assert f"{name} is left out: its schema" in told
    assert "a tool without a name is left out" in told
    assert "echo is left out: there is another of this name" in told


async def test_only_the_first_thousand_tools_are_used(on: McpHarness) -> None:
    on.server("bad", {"tools": [f"t{number}" for number in range(10_000)]})
    await with_good(on, "bad")
    assert on.state("bad").tools == 1_000
    assert on.state("bad").warnings == ("only the first 1,000 of its tools are used",)


async def test_renamed_tools(on: McpHarness) -> None:
    on.server("bad", {"tools": ["rename", "echo"]})
    await with_good(on, "bad")
    assert await on.call("bad_rename") == "done"
    await on.until(lambda: "bad_renamed" in on.names())


async def test_renamed_tools_noticed_by_a_result(on: McpHarness) -> None:
    on.server("bad", {"tools": ["fail", "echo"]})
    await on.started("bad")
    on.plan("bad", tools=["new_name"])
    with pytest.raises(ToolFailed, match="fail of bad failed"):
        await on.call("bad_fail")
    await on.until(lambda: on.names() == ["bad_new_name"])


async def test_a_failing_tool_does_not_cause_a_listing_each_time(on: McpHarness) -> None:
    on.server("bad", {"tools": ["fail"]})
    await on.started("bad")
    on.plan("bad", tools=["fail", "more"])
    with pytest.raises(ToolFailed, match="fail of bad failed"):
        await on.call("bad_fail")
    await on.until(lambda: "bad_more" in on.names())
    on.plan("bad", list="hang")
    for _ in range(5):  # another request for the list would hang until its time is up, and end the connection
        with pytest.raises(ToolFailed, match="fail of bad failed"):
            await on.call("bad_fail")
        later(CALL_SECONDS)
    assert on.state("bad").status == "connected"


async def test_tools_renamed_without_notice(on: McpHarness) -> None:
    """The first failing call makes the client list the tools again."""
    on.server("bad", {"tools": ["refuse", "echo"]})
    await with_good(on, "bad")
    on.plan("bad", tools=["other"])
    with pytest.raises(ToolFailed, match="refuse of bad failed: no such thing"):
        await on.call("bad_refuse")
    await on.until(lambda: "bad_other" in on.names())
    with pytest.raises(ToolFailed, match="There is no tool bad_echo"):
        await on.call("bad_echo")


async def test_an_invalid_result(on: McpHarness) -> None:
    on.server("bad", {"tools": ["nonsense", "echo"]})
    await with_good(on, "bad")
    with pytest.raises(ToolFailed, match="bad answered nonsense with an invalid result"):
        await on.call("bad_nonsense")
    assert await on.call("bad_echo") == "echo {}"
