"""A changed file is read again, and only the changed servers reconnect."""

from __future__ import annotations

import os
import sys

from tests.handlers.tools.mcp.harness import UNRULY, McpHarness
from tests.handlers.tools.mcp.test_ends import gone


async def pids(on: McpHarness, *names: str) -> list[str]:
    await on.connected(*names)
    return [await on.call(f"{name}_pid") for name in names]


async def test_only_changed_servers_reconnect(on: McpHarness) -> None:
    for name in ("a", "b", "c"):
        on.server(name, {"tools": ["pid"]})
    await on.client.start()
    before = await pids(on, "a", "b", "c")
    on.server("b", {"tools": ["pid"]}, role="user")
    on.without("c")
    on.server("d", {"tools": ["pid"]})
    await on.client.refresh()
    after = await pids(on, "a", "b", "d")
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert [state.name for state in on.client.states()] == ["a", "b", "d"]
    assert gone(int(before[1]), int(before[2]))
    last = on.client.toolkits()
    await on.client.refresh()
    assert on.client.toolkits() is last


async def test_a_broken_file_is_reported_and_changes_nothing(on: McpHarness) -> None:
    on.server("a", {"tools": ["pid"]})
    await on.client.start()
    before = await pids(on, "a")
    right = on.path.read_text()
    on.path.write_text(right[:-1])
    await on.client.refresh()
    assert await pids(on, "a") == before
    (problem,) = on.client.problems()
    assert problem.startswith("mcp.json line 1: not valid JSON")
    on.path.write_text(right)
    await on.client.refresh()
    assert on.client.problems() == ()
    assert await pids(on, "a") == before


async def test_a_wrong_entry_does_not_affect_others(on: McpHarness) -> None:
    on.server("a", {"tools": ["pid"]})
    on.entry("b", {"comand": "x"})
    on.entry("c", {"command": sys.executable, "args": [str(UNRULY)], "env": {"KEY": "${NOT_SET_HERE}"}})
    on.entry("d", {"command": 5, "disabled": True})
    await on.client.start()
    await pids(on, "a")
    assert "did you mean command" in on.state("b").reason
    assert on.state("b").status == "failed"
    assert "the variable NOT_SET_HERE, which is not set" in on.state("c").reason
    assert on.state("d").status == "disabled"


async def test_removing_a_server_removes_its_tools(on: McpHarness) -> None:
    on.server("a")
    await on.started("a")
    on.path.unlink()
    await on.client.refresh()
    assert (on.client.toolkits(), on.client.states(), on.names()) == ((), (), [])


async def test_a_pipe_in_place_of_the_file_is_reported_without_waiting(on: McpHarness) -> None:
    os.mkfifo(on.path)
    await on.client.start()
    assert on.client.problems() == ("mcp.json is not a file.",)
    assert on.client.states() == ()
    on.path.unlink()
    on.server("a")
    await on.client.refresh()
    await on.connected("a")
    assert on.client.problems() == ()
