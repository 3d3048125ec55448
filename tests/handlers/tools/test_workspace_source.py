"""The owner's toolkits in the toolbox: programs, and renamed server tools."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.sandbox import ExecResult
from handlers.tools.toolbox import Toolbox
from handlers.tools.workspace import WorkspaceToolkits
from handlers.tools.workspace_source import WorkspaceSource
from routing.errors import ToolFailed
from routing.types.llm import ToolCall
from routing.types.people import Role
from routing.types.tools import Traits
from tests.handlers.tools.authoring.manifest import schema
from tests.handlers.tools.mcp.harness import McpHarness, mcp_harness, scope
from tests.handlers.tools.test_code import FixedResult


class Ready(FixedResult):
    """Also without bubblewrap."""

    async def reason_off(self) -> str | None:
        return None


class Own:
    """A workspace with a toolkit folder, a sandbox with a fixed result, and servers."""

    def __init__(self, folder: Path, servers: McpHarness) -> None:
        self.folder = folder
        self.servers = servers
        self.sandbox = Ready(ExecResult("sunny\n", 0, "exit", 0.1))
        self.toolkits = WorkspaceToolkits(folder)
        self.source = WorkspaceSource(self.toolkits, self.sandbox, servers.client)
        self.toolbox = Toolbox(self.source)
        folder.mkdir()

    def write(self, name: str, *tasks: dict[str, Any], **more: Any) -> None:
        document = {"name": name, "description": "Does things.", "tasks": list(tasks), **more}
        (self.folder / f"{name}.json").write_text(json.dumps(document))
        self.toolkits.refresh()

    async def names(self, role: Role = "owner") -> dict[str, list[str]]:
        offered = await self.toolbox.offered(scope(role).person)
        return {kit.name: [card.name for card in kit.tools] for kit in offered}

    async def run(self, name: str, arguments: str = "{}", role: Role = "owner") -> str:
        return await self.toolbox.run(ToolCall("1", name, arguments), scope(role))


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[Own]:
    async with mcp_harness(tmp_path) as servers:
        yield Own(tmp_path / "toolkits", servers)


def task(name: str, **how: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does it.", "parameters": schema("city"), "execute": how}


PROGRAM, TIDE = task("get_weather", command=["weather", "--now"]), task("get_tide", mcp="sea/tide")
AWAY = "the MCP server sea is not connected, or has no tool tide"


async def test_a_program_runs_with_its_arguments_for_permitted_people(own: Own) -> None:
    own.write("weather", PROGRAM, role="admin")
    assert await own.names("admin") == {"weather": ["get_weather"]}
    assert await own.names("user") == {}
    assert await own.run("get_weather", '{"city": "Rome"}', "admin") == "sunny"
    assert own.sandbox.asked == [(7, ("weather", "--now"), b'{"city": "Rome"}')]
    with pytest.raises(ToolFailed, match="There is no tool get_weather here"):
        await own.run("get_weather", role="user")


@pytest.mark.parametrize(
    ("way", "server"),
    [
        ({"command": ["weather"], "private": True}, {}),
        ({"mcp": "sea/tide", "private": True}, {}),
        ({"mcp": "sea/tide"}, {"private": True}),
    ],
)
async def test_a_private_tool_needs_a_confirmation_where_others_read_along(
    own: Own, way: dict[str, Any], server: dict[str, bool]
) -> None:
    own.write("weather", task("get_weather", **way))
    own.servers.server("sea", {"tools": ["tide"]}, role="user", **server)
    await own.servers.client.start()
    await own.servers.connected("sea")
    assert own.toolbox.traits("get_weather").private
    call = ToolCall("1", "get_weather", '{"city": "Rome"}')
    await own.toolbox.run(call, scope("user"))
    with pytest.raises(ToolFailed, match="needs a confirmation by a person"):
        await own.toolbox.run(call, replace(scope("user"), private=False))


async def test_a_tool_of_a_server_runs_under_its_new_name(own: Own) -> None:
    own.write("coast", TIDE)
    own.servers.server("sea", {"tools": ["tide"]}, role="user")
    await own.servers.client.start()
    await own.servers.connected("sea")
    assert await own.names("user") == {"coast": ["get_tide"]}
    assert await own.names("guest") == {}
    assert await own.run("get_tide", '{"city": "Brest"}', "user") == 'tide {"city": "Brest"}'
    assert own.toolbox.traits("get_tide") == own.servers.client.traits("sea_tide") != Traits()


async def test_a_tool_is_off_while_its_server_is_away_and_comes_back(own: Own) -> None:
    own.write("coast", TIDE, task("other", mcp="sea/nothing"))
    assert await own.names() == {}
    assert (await own.toolbox.off(scope().person))["get_tide"] == AWAY
    own.servers.server("sea", {"tools": ["tide"]})
    await own.servers.client.start()
    await own.servers.connected("sea")
    assert await own.names() == {"coast": ["get_tide"]}
    assert list(await own.toolbox.off(scope().person)) == ["other"], "a tool missing from its server stays off"
    own.servers.plan("sea", start="die")
    own.servers.server("sea", {"start": "die"}, env={"AGAIN": "1"})
    await own.servers.client.refresh()
    await own.servers.until(lambda: own.servers.state("sea").status == "failed")
    assert await own.names() == {}
    assert (await own.toolbox.off(scope().person))["get_tide"] == AWAY
    with pytest.raises(ToolFailed, match="the MCP server sea is not connected"):
        await own.run("get_tide")
    own.servers.plan("sea", tools=["tide"])
    await own.servers.connected("sea")
    assert await own.names() == {"coast": ["get_tide"]}
    assert await own.run("get_tide") == "tide {}"


async def test_a_server_that_dies_and_does_not_come_back_takes_its_tools_off(own: Own) -> None:
    own.write("coast", TIDE, task("end", mcp="sea/die"))
    own.servers.server("sea", {"tools": ["tide", "die"]})
    await own.servers.client.start()
    await own.servers.connected("sea")
    assert await own.names() == {"coast": ["get_tide", "end"]}
    own.servers.plan("sea", start="die")
    with pytest.raises(ToolFailed):
        await own.run("end")
    await own.servers.until(lambda: own.servers.state("sea").status == "failed")
    assert await own.names() == {}
    assert (await own.toolbox.off(scope().person))["get_tide"] == AWAY


async def test_a_servers_tool_needs_permission_by_file_and_server(own: Own) -> None:
    own.write("open", TIDE)
    own.write("closed", task("low", mcp="lake/low"), role="owner")
    own.servers.server("sea", {"tools": ["tide"]})
    own.servers.server("lake", {"tools": ["low"]}, role="user")
    await own.servers.client.start()
    await own.servers.connected("sea", "lake")
    assert await own.names() == {"closed": ["low"], "open": ["get_tide"]}
    assert await own.names("user") == {}


async def test_toolkits_are_the_same_objects_until_a_file_or_server_changes(own: Own) -> None:
    own.write("coast", TIDE)
    await own.servers.client.start()
    before = own.source.bound_toolkits()
    os.utime(own.folder / "coast.json", ns=(1, 1))
    own.toolkits.refresh()
    (own.folder / "broken.json").write_text("{")
    own.toolkits.refresh()
    assert own.source.bound_toolkits() is before
    assert len(before) == 1
    own.write("more", task("get_wave", mcp="sea/wave"))
    after = own.source.bound_toolkits()
    assert after is not before
    assert own.source.bound_toolkits() is after
    own.servers.server("sea", {"tools": ["tide"]})
    await own.servers.client.refresh()
    await own.servers.connected("sea")
    assert own.source.bound_toolkits() is not after


async def test_a_workspace_toolkit_beside_the_servers_own(own: Own) -> None:
    own.write("coast", TIDE)
    own.servers.server("sea", {"tools": ["tide"]})
    toolbox = Toolbox(own.source, own.servers.client)
    await own.servers.client.start()
    await own.servers.connected("sea")
    offered = await toolbox.offered(scope().person)
    assert {kit.name: [card.name for card in kit.tools] for kit in offered} == {
        "coast": ["get_tide"],
        "mcp:sea": ["sea_tide"],
    }
    assert [kit.source for kit in offered] == ["workspace", "mcp"]
    own.write("coast", TIDE | {"name": "sea_tide"})
    assert toolbox.left_out() == ("The tool sea_tide of mcp:sea is left out: coast has one of this name.",)
