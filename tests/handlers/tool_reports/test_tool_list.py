"""Texts about toolkits, invalid files and MCP servers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from handlers.tool_reports.tool_list import MAX_WARNINGS, SERVER_STATES, SOURCES, ToolList, listed, plain
from handlers.tools.authoring.tool import Tool
from handlers.tools.dependencies import ToolServices
from handlers.tools.mcp.client import McpClient
from handlers.tools.mcp.config import read_servers
from handlers.tools.mcp.connection import ServerState, Status
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from handlers.tools.workspace import WorkspaceToolkits
from routing.errors import Reason
from routing.ports import Embedder
from routing.tools.selector import ToolSelector
from routing.types.decisions import SIZES
from routing.types.people import Person
from routing.types.toolkits import ToolCard, Toolkit, ToolkitSource, ToolText
from routing.types.tools import ToolScope
from tests.handlers.contexts import asked
from tests.routing.tools.fakes import FakeVectors

NOW = 1_000.0


class Servers(McpClient):
    """Servers with given states."""

    def __init__(self, *states: ServerState, problems: tuple[Reason, ...] = ()) -> None:
        super().__init__(Path("/nowhere/mcp.json"), {})
        self._told = states
        self._problems = problems

    def states(self) -> tuple[ServerState, ...]:
        return self._told


async def does(scope: ToolScope) -> str:
    return ""


async def missing() -> str | None:
    return "its *program* is missing"


def bound(name: str, *tools: Tool, about: str = "Does things.", **facts: Any) -> BoundToolkit:
    text = ToolText("Does it.", {"type": "object", "properties": {}})
    cards = tuple(ToolCard(tool.name, dict.fromkeys(SIZES, text)) for tool in tools)
    return BoundToolkit(Toolkit(name, about, tools=cards, **facts), tools)


def box() -> Toolbox:
    return Toolbox(
        BuiltinSource(
            [
                bound("open", Tool("a", does, role="guest"), Tool("b", does), Tool("c", does, off=missing)),
                bound("lame", Tool("d", does, off=missing), base=True),
                bound("secret", Tool("e", does, role="owner")),
                bound("far [away](http://x)", Tool("discover_tools", does), source="mcp"),
            ]
        )
    )


@dataclass(frozen=True)
class Tooling:
    """A `ToolServices`."""

    toolbox: Toolbox
    selector: ToolSelector
    toolkits: WorkspaceToolkits
    mcp: McpClient
    embedder: Embedder | None = None


def tooling(toolbox: Toolbox, toolkits: WorkspaceToolkits, mcp: McpClient) -> ToolServices:
    selector = ToolSelector(toolbox.toolkits, None, FakeVectors())
    return Tooling(toolbox, selector, toolkits, mcp)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def made(folder: Path, *states: ServerState, problems: tuple[Reason, ...] = ()) -> ToolList:
    toolkits = WorkspaceToolkits(folder)
    toolkits.refresh()
    return ToolList(tooling(box(), toolkits, Servers(*states, problems=problems)), lambda: NOW)


async def test_the_list_has_every_tool_of_the_role(folder: Path) -> None:
    mine = {held.toolkit.name: (held.tools, held.usable) for held in await made(folder).held(Person(1, "user", "U"))}
    assert mine == {
        "open": (("a", "b", "c"), 2), "lame": (("d",), 0), "far [away](http://x)": (("discover_tools",), 1),
    }  # fmt: skip
    guest = await made(folder).held(Person(2, "guest", "G"))
    assert [(held.toolkit.name, held.tools) for held in guest] == [("open", ("a",))]
    owner = await made(folder).held(Person(3, "owner", "O"))
    assert [held.toolkit.name for held in owner if held.kept] == ["far [away](http://x)"]


async def test_toolkits_and_reasons_are_one_line_each(folder: Path) -> None:
    text = await made(folder).shown(asked(role="user"), {"open"})
    assert text.splitlines() == [
        "- ⏹ **open** (ours, 2 of 3 tools, switched off by you): Does things.",
        "- **lame** (ours, 0 of 1 tools, always included): Does things.",
        "- **far away(http://x)** (MCP server, 1 tool): Does things.",
        "",
        "Tools that can't be used right now:",
        "",
        "- `c`, `d`: its program is missing",
    ]


async def test_a_toolkit_that_is_off_as_a_whole_is_named_once() -> None:
    kits = [bound(name, *(Tool(f"{name}_{n}", does, off=missing) for n in range(9))) for name in ("mail", "desk")]
    there = ToolList(tooling(Toolbox(BuiltinSource(kits)), WorkspaceToolkits(Path("/nowhere")), Servers()), lambda: NOW)
    shown = (await there.shown(asked(), ())).splitlines()
    assert shown[-1] == "- **mail**, **desk**: its program is missing"


async def test_one_toolkit_has_a_line_for_each_of_its_tools(folder: Path) -> None:
    there = made(folder)
    (held, *_) = await there.held(Person(1, "user", "U"))
    text = await there.detail(asked(role="user"), held, True, {"a": "asks", "b": "always"})
    assert text.splitlines() == [
        "⏹ **open** (ours, 2 of 3 tools, switched off by you): Does things.",
        "",
        "- `a`: Does it. (asks before each run)",
        "- `b`: Does it.",
        "- `c`: Does it.",
        "  ⚠️ its program is missing",
    ]


@pytest.mark.parametrize(("count", "length"), [(5, 120), (25, 52), (35, 20), (36, 0)])
async def test_long_lists_shorten_each_toolkit(folder: Path, count: int, length: int) -> None:
    kits = [bound(f"kit{n}", Tool(f"t{n}", does), about="word " * 50) for n in range(count)]
    there = ToolList(tooling(Toolbox(BuiltinSource(kits)), WorkspaceToolkits(folder), Servers()), lambda: NOW)
    lines = (await there.shown(asked(), ())).splitlines()
    told = [each.partition("): ")[2] for each in lines]
    assert [len(each) for each in told] == [length] * count
    assert all(each.endswith("…") for each in told if each)


async def test_the_state_of_each_server(folder: Path) -> None:
    states = (
        ServerState(
            "up", "connected", 3, Reason(""), NOW - 60, "user", tuple(Reason(f"warning {n}") for n in range(9))
        ),
        ServerState("slow", "connecting", 0, Reason("it closed the connection"), NOW - 5, "user"),
        ServerState("down", "failed", 0, Reason("it can't\nbe reached"), NOW - 3600, "user"),
        ServerState("not", "disabled", 0, Reason(""), NOW, "user"),
    )
    there = made(folder, *states, problems=(Reason("mcp.json line 1: x is not known"),))
    assert there.faults(asked(role="user")) == ""
    assert there.counted(asked(role="user")) == []
    assert there.faults(asked(role="owner", private=False)) == "", "a group can read it"
    warnings = [f"- ⚠️ warning {n}" for n in range(MAX_WARNINGS)]
    assert there.faults(asked(role="admin")).splitlines() == [
        "Files with errors:", "", "- ⚠️ mcp.json line 1: x is not known", "", "MCP servers:", "",
        "- **up**: connected for 1 min, 3 tools", *warnings, "- **slow**: connecting for 5 s: it closed the connection",
        "- ⚠️ **down**: not connected for 1 h 0 min: it can't be reached", "- **not**: disabled in mcp.json",
    ]  # fmt: skip
    assert there.counted(asked(role="admin")) == ["⚠️ MCP servers with errors: down; /tools says why."]
    file = made(folder, problems=(Reason("mcp.json line 1 column 2: not valid JSON"),))
    assert file.counted(asked()) == ["⚠️ MCP servers with errors: mcp.json; /tools says why."]
    assert made(folder, states[0], states[3]).counted(asked()) == []


def test_a_broken_file_with_a_working_last_version_says_so(folder: Path) -> None:
    task = {"name": "go", "description": "Goes.", "execute": {"command": ["true"]}}
    hinted = task | {"capabilityHints": {"tiers": {"small": {"inputSchema": {"type": "nonsense"}}}}}
    (folder / "a.json").write_text(json.dumps({"name": "a", "description": "A.", "tasks": [hinted]}))
    toolkits = WorkspaceToolkits(folder)
    toolkits.refresh()
    there = ToolList(tooling(box(), toolkits, Servers()), lambda: NOW)
    assert there.counted(asked()) == [], "an ignored hint has no effect"
    assert "capabilityHints" in there.faults(asked()) or "hint" in there.faults(asked())
    (folder / "a.json").write_text("{")
    (folder / "b.json").write_text("[")
    toolkits.refresh()
    faults = there.faults(asked()).splitlines()
    assert faults[2].startswith("- ⚠️ a.json line 1")
    assert faults[2].endswith("The last valid version is in use.")
    assert faults[3].startswith("- ⚠️ b.json line 1")
    assert "last valid" not in faults[3]
    assert there.counted(asked()) == ["⚠️ Broken toolkit files: 2; /tools says why."]


def test_rejected_tools_are_named_to_those_who_can_fix_them(folder: Path) -> None:
    many = [Tool(f"t{n}", does) for n in range(MAX_WARNINGS + 2)]
    twice = Toolbox(BuiltinSource([bound("vault", *many), bound("mcp:vault", *many, source="mcp")]))
    there = ToolList(tooling(twice, WorkspaceToolkits(folder), Servers()), lambda: NOW)
    named = [f"- ⚠️ The tool t{n} of mcp:vault is left out: vault has one of this name." for n in range(MAX_WARNINGS)]
    lines = there.faults(asked(role="admin")).splitlines()
    assert lines == ["Tools left out:", "", *named, "- and 2 more"]
    assert there.counted(asked(role="admin")) == ["⚠️ Tools left out: 7; /tools says why."]
    assert there.faults(asked(role="user")) == ""
    assert there.counted(asked(role="user")) == []


def test_a_tool_missing_from_its_manifest_is_reported_in_german_too(folder: Path) -> None:
    forgotten = BoundToolkit(Toolkit("vault", "Secrets."), [Tool("open_vault", does)])
    there = ToolList(tooling(Toolbox(BuiltinSource([forgotten])), WorkspaceToolkits(folder), Servers()), lambda: NOW)
    assert there.faults(asked()).splitlines()[2:] == [
        r"- ⚠️ The tool open_vault of vault is left out: the toolkit's manifest does not describe it."
    ]
    assert there.faults(asked(language="de")).splitlines()[2:] == [
        r"- ⚠️ Das Werkzeug open_vault aus vault fehlt: Im Manifest des Toolkits ist es nicht beschrieben."
    ]


def test_outside_text_is_not_formatted() -> None:
    assert plain("a *b*\n[c](d) `e`  <f> my_name") == "a b c(d) e f my_name"
    assert plain("x" * 50, 10) == "x" * 9 + "…"
    assert plain("x" * 10, 10) == "x" * 10


def test_a_long_list_is_counted_at_its_end() -> None:
    assert listed(asked(), ["a", "b", "c"], 3) == "a, b, c"
    assert listed(asked(), ["a", "b", "c"], 1) == "a, and 2 more"


def test_every_source_and_status_has_a_text() -> None:
    assert SOURCES.keys() == set(get_args(ToolkitSource))
    assert SERVER_STATES.keys() == set(get_args(Status))


def test_formatting_characters_in_a_reason_are_escaped() -> None:
    assert plain("/nowhere/__main__/x_y*\nz") == r"/nowhere/\_\_main\_\_/x_y z"


async def test_errors_are_german_for_a_german_owner(folder: Path, tmp_path: Path) -> None:
    (folder / "a.json").write_text("{")
    (folder / "b.json").write_text('{"name": "b", "nmae": "b"}')
    toolkits = WorkspaceToolkits(folder)
    toolkits.refresh()
    entries = {"up": {"command": "x", "url": "http://y"}, "url": {"url": "ftp://y"}, "env": {"command": "${NONE}"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": entries, "mcpServer": {}}))
    read = read_servers(tmp_path / "mcp.json", {})
    states = [ServerState(each.name, "failed", 0, each.fault, NOW - 60, "owner") for each in read.found.values()]
    twice = Toolbox(BuiltinSource([bound("open", Tool("a", does)), bound("lame", Tool("a", does))]))
    there = ToolList(tooling(twice, toolkits, Servers(*states, problems=read.problems)), lambda: NOW)
    told = there.faults(asked(language="de"))
    assert [line for line in told.splitlines() if line] == [
        "Dateien mit Fehlern:",
        "- ⚠️ a.json Zeile 1 Spalte 2: kein gültiges JSON, ein Schlüssel in doppelten Anführungszeichen wird erwartet.",
        "- ⚠️ b.json Zeile 1: nmae ist kein bekanntes Feld; meintest du name?",
        "- ⚠️ mcp.json Zeile 1: mcpServer ist unbekannt und hat keine Wirkung; meintest du mcpServers?",
        "Ausgelassene Werkzeuge:",
        "- ⚠️ Das Werkzeug a aus lame fehlt: open hat schon eines mit diesem Namen.",
        "MCP-Server:",
        "- ⚠️ **up**: nicht verbunden seit 1 min: mcp.json Zeile 1: mcpServers.up muss entweder command oder url haben.",
        "- ⚠️ **url**: nicht verbunden seit 1 min: mcp.json Zeile 1: mcpServers.url.url muss mit http:// oder https:// "
        "beginnen.",
        "- ⚠️ **env**: nicht verbunden seit 1 min: mcp.json Zeile 1: mcpServers.env.args nennt die Variable NONE, die "
        "in der Umgebung nicht gesetzt ist.",
    ]
