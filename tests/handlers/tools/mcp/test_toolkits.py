"""The servers' tools in the toolbox: roles, and servers that come and go."""

from __future__ import annotations

import json

import pytest

from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import UNKNOWN, Toolbox
from routing.errors import ToolFailed
from routing.types.decisions import SIZES
from routing.types.llm import ToolCall
from routing.types.people import Role
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope
from tests.handlers.tools.mcp.harness import McpHarness, scope


async def reads(scope: ToolScope) -> str:
    return ""


async def names(toolbox: Toolbox, role: Role = "owner") -> dict[str, list[str]]:
    offered = await toolbox.offered(scope(role).person)
    return {kit.name: [card.name for card in kit.tools] for kit in offered}


async def run(toolbox: Toolbox, name: str, arguments: str = "{}", role: Role = "owner") -> str:
    return await toolbox.run(ToolCall("1", name, arguments), scope(role))


async def test_a_server_is_a_toolkit_for_its_role(on: McpHarness) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    on.server("open", {"tools": [{"name": "echo", "inputSchema": schema}]}, role="user")
    on.server("mine", {"tools": [{"name": "reads", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]})
    toolbox = Toolbox(on.client)
    await on.client.start()
    assert await names(toolbox) == {}
    assert toolbox.toolkits() == ()
    await on.connected("open", "mine")
    assert await names(toolbox) == {"mcp:open": ["open_echo"], "mcp:mine": ["mine_reads"]}
    assert await names(toolbox, "user") == {"mcp:open": ["open_echo"]}
    assert await names(toolbox, "guest") == {}
    assert await run(toolbox, "open_echo", '{"n": 3}', "user") == 'echo {"n": 3}'
    with pytest.raises(ToolFailed, match="n: 'x' is not of type 'integer'"):
        await run(toolbox, "open_echo", '{"n": "x"}')
    with pytest.raises(ToolFailed, match="There is no tool mine_reads here"):
        await run(toolbox, "mine_reads", role="user")
    assert toolbox.traits("mine_reads") == on.client.traits("mine_reads") != UNKNOWN
    assert toolbox.traits("mine_reads").parallel
    assert not toolbox.traits("open_echo").parallel


async def test_a_server_may_have_the_name_of_our_toolkit(on: McpHarness) -> None:
    on.server("files", {"tools": ["search_drive"]})
    text = ToolText("Reads.", {"type": "object", "properties": {}})
    read = Tool("read_file", reads)
    ours = BoundToolkit(Toolkit("files", "Files.", tools=(ToolCard("read_file", dict.fromkeys(SIZES, text)),)), [read])
    toolbox = Toolbox(BuiltinSource([ours]), on.client)
    await on.started("files")
    assert await names(toolbox) == {"files": ["read_file"], "mcp:files": ["files_search_drive"]}
    assert await run(toolbox, "files_search_drive", '{"q": 1}') == 'search_drive {"q": 1}', "the server judges"
    assert toolbox.left_out() == ()


async def test_a_servers_regular_expression_is_shown_and_not_run(on: McpHarness) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "pattern": "^(a+)+$"}}}
    on.server("bad", {"tools": [{"name": "echo", "inputSchema": schema}]})
    toolbox = Toolbox(on.client)
    await on.started("bad")
    assert toolbox.toolkits()[0].tools[0].texts["S"].parameters == schema
    slow = "a" * 18 + "!"
    assert slow in await run(toolbox, "bad_echo", json.dumps({"q": slow})), "each letter would double the time"


async def test_toolkits_are_the_same_objects_until_a_server_changes(on: McpHarness) -> None:
    on.server("a")
    kits = on.client
    await on.started("a")
    before = kits.bound_toolkits()
    assert kits.bound_toolkits() is before
    assert len(before) == 1
    on.server("b")
    await on.client.refresh()
    await on.connected("a", "b")
    assert kits.bound_toolkits() is not before
    assert len(kits.bound_toolkits()) == 2


async def test_tools_disappear_and_return_with_their_server(on: McpHarness) -> None:
    on.server("a")
    toolbox = Toolbox(on.client)
    await on.started("a")
    assert await run(toolbox, "a_echo") == "echo {}"
    on.without("a")
    await on.client.refresh()
    assert await names(toolbox) == {}
    with pytest.raises(ToolFailed, match="There is no tool a_echo here"):
        await run(toolbox, "a_echo")
    on.server("a", role="user")
    await on.client.refresh()
    await on.connected("a")
    assert await names(toolbox, "user") == {"mcp:a": ["a_echo"]}, "with the current role"
