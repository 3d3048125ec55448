"""Toolkits of well-behaved servers: names, roles, results and states."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from handlers.tools.mcp.client import McpClient
from routing.errors import ToolFailed
from routing.types.people import Role
from routing.types.tools import Traits
from tests.handlers.tools.mcp.harness import McpHarness, mcp_harness, scope

EMPTY = {"type": "object", "properties": {}}


async def test_without_a_file_there_are_no_servers(tmp_path: Path) -> None:
    client = McpClient(tmp_path / "mcp.json", {})
    await client.start()
    assert (client.toolkits(), client.states(), client.problems()) == ((), (), ())
    with pytest.raises(ToolFailed, match="There is no tool a_b here"):
        await client.call("a_b", {}, scope())
    await client.close()


def test_the_sdk_is_not_imported_before_a_server_is() -> None:
    program = (
        "import asyncio, pathlib, sys; from handlers.tools.mcp.client import McpClient\n"
        "client = McpClient(pathlib.Path('nowhere/mcp.json'), {})\n"
        "asyncio.run(client.start())\n"
        "print([name for name in ('mcp', 'mcp_types', 'httpx2', 'jsonschema', 'uvicorn') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "[]\n"


async def test_a_server_is_a_toolkit(on: McpHarness) -> None:
    on.server("notes", {"tools": ["echo"], "info": {"instructions": "Keeps\u202e notes.\U000e0041"}})
    await on.client.start()
    assert on.state("notes").status == "connecting", "the start does not wait"
    await on.connected("notes")
    (toolkit,) = on.client.toolkits()
    assert (toolkit.name, toolkit.description, toolkit.source) == ("mcp:notes", "Keeps notes.", "mcp")
    assert not toolkit.base
    assert toolkit.tools[0].name == "notes_echo"
    assert (on.state("notes").tools, on.state("notes").reason, on.state("notes").role) == (1, "", "owner")


async def test_hints_set_the_texts_of_each_size(on: McpHarness) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]}
    small = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    hints = {"tiers": {"small": {"description": "Find.", "inputSchema": small}}, "category": "web", "priority": 2}
    plain = {"description": "Finds what is asked for.", "inputSchema": schema}
    in_meta = {"name": "a", **plain, "_meta": {"io.github.tierbot/capabilityHints": hints}}
    raw = {"name": "b", **plain, "capabilityHints": hints}
    wrong = {"tiers": {"small": {"inputSchema": {**schema, "properties": {"q": {"type": "none"}}}}}}
    on.server("s", {"tools": [in_meta, raw, {"name": "c", **plain, "capabilityHints": wrong}]})
    await on.started("s")
    first, second, third = on.client.toolkits()[0].tools
    for card in (first, second):
        assert (card.texts["S"].description, card.texts["S"].parameters) == ("Find.", small)
        assert [card.texts[size].description for size in ("M", "L", "XL")] == ["Finds what is asked for."] * 3
        assert (card.category, card.priority) == ("web", 2.0)
    assert third.texts["S"] == third.texts["XL"]
    (warning,) = on.state("s").warnings
    assert warning.startswith(
        "c: its hint for small is wrong, its schema is not valid (properties.q.type has the illegal value"
    )
    assert on.client.toolkits()[0].category == "web"


async def test_annotations_become_traits(on: McpHarness) -> None:
    tools = [
        {"name": "reads", "inputSchema": EMPTY, "annotations": {"readOnlyHint": True, "destructiveHint": "x"}},
        {"name": "adds", "inputSchema": EMPTY, "annotations": {"destructiveHint": False}},
        {"name": "says_nothing", "inputSchema": EMPTY},
    ]
    on.server("s", {"tools": tools}, timeout=7, allow=["adds"])
    await on.started("s")
    assert on.client.traits("s_reads") == Traits(parallel=True, changes=False, seconds=12)
    assert on.client.traits("s_adds") == Traits(False, True, 12, confirm=True, allowed_in="mcp.json")
    assert on.client.traits("s_says_nothing") == Traits(False, True, 12, confirm=True)
    on.server("mail", {"tools": tools}, private=True)
    await on.started("mail")
    assert on.client.traits("mail_reads").private


async def test_servers_are_limited_to_roles(on: McpHarness) -> None:
    on.server("all", role="user")
    on.server("mine")
    await on.started("all", "mine")
    assert await on.call("all_echo", role="user") == "echo {}"
    assert (on.client.role("all_echo"), on.client.role("mine_echo"), on.client.role("x")) == ("user", "owner", "owner")
    refused: tuple[tuple[str, Role], ...] = (("mine_echo", "admin"), ("all_echo", "guest"))
    for name, role in refused:
        with pytest.raises(ToolFailed, match=f"There is no tool {name} here"):
            await on.call(name, role=role)


async def test_taken_and_illegal_names(tmp_path: Path) -> None:
    async with mcp_harness(tmp_path, taken=("web_search",)) as on:
        on.server("web", {"tools": ["search", "get.page/1", "get.page_1", "x" * 80]})
        await on.started("web")
        search, first, second, long = on.names()
        assert search.startswith("web_search_")
        assert first.startswith("web_get_page_1_")
        assert len(long) == 64
        assert len({search, first, second, long}) == 4
        theirs = ("search", "get.page/1", "get.page_1", "x" * 80)
        for name, own in zip((search, first, second, long), theirs, strict=True):
            assert on.client.named("web", own) == name
            assert await on.call(name) == f"{own} {{}}"
        assert on.client.named("web", "nothing") is None
        assert on.client.named("nobody", "x") is None


async def test_results_as_text(on: McpHarness) -> None:
    on.server("s", {"tools": ["blocks", "structured", "twice", "fail"]})
    await on.started("s")
    assert await on.call("s_blocks") == (
        "[image image/png, 3 kB: it can't be shown here]\n\n[resource log file:///log]\n\n"
        "[resource file:///a]\ninside\n\n[file file:///b application/pdf, 3 kB: it can't be shown here]"
    )
    assert await on.call("s_structured") == '{"n": 5}' == await on.call("s_twice")
    with pytest.raises(ToolFailed, match="fail of s failed: the disk is full"):
        await on.call("s_fail")


async def test_a_server_gets_none_of_the_bots_environment(tmp_path: Path) -> None:
    own = {"PATH": "/usr/bin:/bin", "HOME": "/home/ann", "SECRET": "sk-1", "TOKEN": "t-1"}
    async with mcp_harness(tmp_path, environment=own) as on:
        (tmp_path / "inside").mkdir()
        on.server("s", {"tools": ["environ", "where"]}, env={"GIVEN": "${TOKEN}", "ELSE": "${NO:-x}"}, cwd="inside")
        await on.started("s")
        got = json.loads(await on.call("s_environ"))
        got.pop("LC_CTYPE", None)  # Python's own, in a child without a language
        assert got == {"PATH": "/usr/bin:/bin", "HOME": "/home/ann", "GIVEN": "t-1", "ELSE": "x"}
        assert await on.call("s_where") == str(tmp_path / "inside")


async def test_concurrent_calls(on: McpHarness) -> None:
    on.server("s")
    await on.started("s")
    said = await asyncio.gather(*(on.call("s_echo", n=number) for number in range(100)))
    assert said == [f'echo {{"n": {number}}}' for number in range(100)]


async def test_a_bug_is_logged_once_with_its_traceback(
    on: McpHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries, loop, third = count(1), asyncio.get_running_loop(), asyncio.Event()

    def bug(*_: object) -> None:
        if next(tries) == 3:
            loop.call_soon_threadsafe(third.set)
        raise KeyError("bug")

    monkeypatch.setattr("handlers.tools.mcp.session.read_listing", bug)
    on.server("s")
    await on.client.start()
    async with asyncio.timeout(60):
        await third.wait()
    [record] = [record for record in caplog.records if record.exc_info]
    assert record.getMessage() == "[MCP] s: the connection failed"
    assert "KeyError: 'bug'" in caplog.text
    assert on.state("s").reason.startswith("it failed (KeyError)")


async def test_a_failing_server_is_logged_without_a_traceback(on: McpHarness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    on.entry("s", {"command": "/not/here"})
    await on.client.start()
    await on.until(lambda: on.state("s").status == "failed")
    assert "[MCP] s: failed (/not/here is not there" in caplog.text
    assert not any(record.exc_info for record in caplog.records)
