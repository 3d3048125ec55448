"""Toolkits are switched one after the other, with any names."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from handlers.commands.tools import BUTTONS, ToolsCommand
from handlers.context import CommandContext
from handlers.parsing import parse_command
from handlers.tool_reports.tool_list import ToolList
from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BuiltinSource
from handlers.tools.toolbox import Toolbox
from handlers.tools.workspace import WorkspaceToolkits
from routing.errors import Refused
from routing.types.people import PersonSettings
from tests.handlers.contexts import asked
from tests.handlers.learners import untaught
from tests.handlers.tool_reports.test_tool_list import Servers, bound, does, tooling

ODD = "my 'odd' [server]"


class Kept:
    """Settings of one person in a slow store."""

    def __init__(self, *off: str) -> None:
        self.now = PersonSettings(language="de", off=frozenset(off))

    async def settings(self, person_id: int) -> PersonSettings:
        found = self.now
        await asyncio.sleep(0)
        return found

    async def set_settings(self, person_id: int, settings: PersonSettings) -> None:
        await asyncio.sleep(0)
        self.now = settings


class NoPolicy:
    async def lines(self, ask: CommandContext) -> list[str]:
        return []


def command(kept: Kept, *names: str) -> ToolsCommand:
    base = {"always": True}
    kits = [bound(name, Tool(f"tool_{n}", does), base=base.get(name, False)) for n, name in enumerate(names)]
    box = Toolbox(BuiltinSource([*kits, bound("conversation", Tool("discover_tools", does), base=True)]))
    parts = tooling(box, WorkspaceToolkits(Path("/nowhere")), Servers())
    unused: Any = None
    settings, policy = cast(Any, kept), cast(Any, NoPolicy())
    return ToolsCommand(settings, unused, unused, ToolList(parts, lambda: 0.0), parts, policy, untaught())


async def test_concurrent_switches_are_both_applied() -> None:
    kept = Kept()
    tools = command(kept, "a", "b")
    await asyncio.gather(tools(asked("/tools off a")), tools(asked("/tools off b")))
    assert kept.now == PersonSettings(language="de", off=frozenset({"a", "b"}))


async def test_any_name_of_a_server_can_be_switched_by_its_button() -> None:
    kept = Kept()
    tools = command(kept, ODD)
    shown = await tools(asked())
    button = shown.buttons[0][0]
    typed = parse_command(button.command, "tierbot")
    assert button.label == f"⏹ {ODD}"
    assert typed is not None
    assert typed.arguments == ("off", ODD)
    shown = await tools(asked(button.command))
    assert kept.now.off == {ODD}
    assert shown.text.startswith("⏹ **my 'odd' server** is off for you in every chat.")
    await tools(asked(shown.buttons[0][0].command))
    assert kept.now.off == frozenset()


async def test_a_removed_toolkit_can_be_switched_on() -> None:
    kept = Kept("Gone")
    with pytest.raises(Refused, match="already off"):
        await command(kept, "a")(asked("/tools off gone"))
    assert (await command(kept, "a")(asked("/tools on gone"))).text.startswith("✅ **Gone** is on")
    assert kept.now.off == frozenset()


async def test_buttons_are_limited_and_disabled_toolkits_come_first() -> None:
    names = ("always", *(f"kit{n}" for n in range(20)))
    shown = await command(Kept("kit9"), *names)(asked())
    labels = [button.label for row in shown.buttons for button in row]
    assert labels == ["▶️ kit9", *(f"⏹ kit{n}" for n in range(BUTTONS - 1))]
    assert max(map(len, shown.buttons)) == 2
    few = await command(Kept("always"), "a", "always")(asked())
    assert [button.label for row in few.buttons for button in row] == ["▶️ always", "⏹ a"]


@pytest.mark.parametrize("typed", ["/tools", '/tools ""', "/tools '  '", "/tools “ ”"])
async def test_an_empty_query_is_refused(typed: str) -> None:
    assert "- **a** (ours, 1 tool)" in (await command(Kept(), "a")(asked(typed))).text


async def test_a_refusal_stores_nothing() -> None:
    kept = Kept("a")
    before = replace(kept.now)
    for typed in ("/tools off conversation", "/tools off a", "/tools off tool_0", "/tools on a b", "/tools on"):
        with pytest.raises(Refused, match="Nothing was changed"):
            await command(kept, "a", "b")(asked(typed))
        assert kept.now == before
