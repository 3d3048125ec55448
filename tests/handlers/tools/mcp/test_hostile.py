"""Malicious listings: the tool in question is dropped and named, everything else works."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.mcp.config import DEFAULT_LIMITS, Server
from handlers.tools.mcp.listing import read_listing
from handlers.tools.toolbox import Toolbox
from routing.errors import ToolFailed
from routing.types.llm import ToolCall
from tests.handlers.tools.mcp.harness import QUICK, McpHarness, mcp_harness, scope
from tests.handlers.tools.mcp.test_naming import signs
from tests.handlers.tools.mcp.test_schemas import doubling

EMPTY = {"type": "object", "properties": {}}
HINTS = "io.github.tierbot/capabilityHints"
WIDE = {**EMPTY, "$defs": doubling(40)}


def deep(levels: int) -> Any:
    held: Any = "x"
    for _ in range(levels):
        held = [held]
    return held


def hinted(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "inputSchema": EMPTY, "_meta": {HINTS: {"tiers": {"small": {"inputSchema": schema}}}}}


BAD_SCHEMAS: list[tuple[dict[str, Any], str]] = [
    ({**WIDE, "allOf": [{"$ref": "#/$defs/a0"}]}, "its schema is too large: more than 5,000 parts"),
    ({**WIDE, "properties": {"q": {"$ref": "#/$defs/a0"}}}, "its schema is too large: more than 5,000 parts"),
    ({**EMPTY, "enum": ["\ud800"]}, "its schema contains half a character"),
    ({"type": "object", "properties": {"\ud800": {}}}, "its schema contains half a character"),
    ({**EMPTY, "default": float("nan")}, "its schema has a number that JSON does not know"),
    ({**EMPTY, "default": deep(260)}, "its schema is nested too deeply"),
    ({**EMPTY, "x": deep(120)}, "its schema is nested too deeply"),
]


async def test_a_bad_schema_only_affects_its_tool(on: McpHarness) -> None:
    worst = [{"name": f"worst{number}", "inputSchema": schema} for number, (schema, _) in enumerate(BAD_SCHEMAS)]
    on.server("bad", {"tools": [*worst, "echo"]})
    on.server("good")
    await on.started("bad", "good")
    assert set(on.names()) == {"bad_echo", "good_echo"}
    assert on.state("bad").tools == 1
    for number, (warning, (_, reason)) in enumerate(zip(on.state("bad").warnings, BAD_SCHEMAS, strict=True)):
        assert warning.startswith(f"worst{number} is left out: {reason}")
    assert await on.call("bad_echo") == "echo {}"


async def test_a_bad_hint_only_affects_itself(on: McpHarness) -> None:
    hints: list[tuple[dict[str, Any], str]] = [
        ({**WIDE, "allOf": [{"$ref": "#/$defs/a0"}]}, "its hint for small is wrong, its schema is too large"),
        ({**EMPTY, "default": float("inf")}, "its hint for small is wrong, its schema has a number"),
        ({**EMPTY, "default": deep(260)}, "its hint object is nested too deeply; it is ignored"),
    ]
    on.server("bad", {"tools": [hinted(f"t{number}", schema) for number, (schema, _) in enumerate(hints)]})
    await on.started("bad")
    assert on.names() == ["bad_t0", "bad_t1", "bad_t2"]
    for number, (warning, (_, reason)) in enumerate(zip(on.state("bad").warnings, hints, strict=True)):
        assert warning.startswith(f"t{number}: {reason}")


async def test_a_list_nested_too_deeply_is_reported(on: McpHarness) -> None:
    line = '{"name": "t", "inputSchema": {"type": "object", "default": ' + "[" * 3_000 + "]" * 3_000 + "}}"
    on.server("bad", {"raw_tools": f"[{line}]"})
    await on.client.start()
    await on.until(lambda: on.state("bad").status == "failed")
    assert on.state("bad").reason == "it answers: the answer is nested too deeply"


async def test_a_name_with_a_lone_surrogate(on: McpHarness) -> None:
    on.server("bad", {"tools": ["echo", "half\ud800", "x" * 1_001]})
    await on.started("bad")
    assert on.names() == ["bad_echo"]
    assert [warning.partition(" is left out: ")[2] for warning in on.state("bad").warnings] == [
        "its name can't be shown"
    ] * 2


async def test_hidden_characters_are_removed_from_tool_texts(on: McpHarness) -> None:
    hidden = "go\U000e0041\U000e0101\u200b\u2062\x1b[2J\u202e on"
    schema = {"type": "object", "properties": {"q": {"type": "string", "title": hidden, "description": hidden}}}
    hint = {"tiers": {"small": {"description": hidden, "inputSchema": schema}}}
    on.server("bad", {"tools": [{"name": "t", "description": hidden, "inputSchema": schema, "_meta": {HINTS: hint}}]})
    await on.started("bad")
    (card,) = on.client.toolkits()[0].tools
    told = {"type": "string", "title": "go[2J on", "description": "go[2J on"}
    for size in ("S", "XL"):
        assert card.texts[size].description == "go[2J on"
        assert card.texts[size].parameters["properties"] == {"q": told}


async def test_a_server_name_without_latin_letters_gets_a_unique_prefix(on: McpHarness) -> None:
    schema = {"type": "object", "properties": {"pin": {"type": "string"}}}
    on.server("vault", {"tools": [{"name": "open", "inputSchema": schema}]})
    on.server("日本", {"tools": ["vault_open"]}, role="user")
    toolbox = Toolbox(on.client)
    await on.started("vault", "日本")
    assert set(on.names()) == {"vault_open", f"server-{signs('日本')}_vault_open"}
    assert toolbox.left_out() == ()
    assert await toolbox.run(ToolCall("1", "vault_open", '{"pin": "1"}'), scope()) == 'open {"pin": "1"}'
    assert on.client.role("vault_open") == "owner"


async def test_a_server_named_like_anothers_hashed_prefix_takes_nothing_over(on: McpHarness) -> None:
    imitation = f"a b-{signs('a b')}"
    on.server(imitation, {"tools": ["hang", "own"]}, role="user")
    on.server("a b", {"tools": ["echo", "own"]})
    on.server("a.b", {"tools": ["echo"]})
    toolbox = Toolbox(on.client)
    await on.started(imitation, "a b", "a.b")
    assert len(set(on.names())) == len(on.names()) == 5
    assert toolbox.left_out() == ()
    name, imitated = on.client.named("a b", "own"), on.client.named(imitation, "own")
    assert name
    assert imitated
    assert name != imitated
    assert (on.client.role(name), on.client.role(imitated)) == ("owner", "user")
    before = on.client.toolkits()
    on.server("z")
    await on.client.refresh()
    await on.connected("z")
    assert len(on.client.toolkits()) == 4
    assert all(map(operator.is_, before, on.client.toolkits()))


async def test_a_tool_name_collision_is_reported(on: McpHarness) -> None:
    clash = f"a_b_{signs('a.b')}"
    on.server("bad", {"tools": ["a.b", "a b", clash]})
    await on.started("bad")
    assert on.names() == [f"bad_a_b_{signs('a b')}", f"bad_{clash}"]
    assert on.state("bad").tools == 2
    assert await on.call(f"bad_{clash}") == f"{clash} {{}}"
    (warning,) = on.state("bad").warnings
    assert warning == "a.b is left out: its name and what it could be called here are other tools'"


@pytest.mark.parametrize("given", ["\ud800", deep(150)])
async def test_unserialisable_arguments_fail_one_call(on: McpHarness, given: Any) -> None:
    on.server("bad", {"tools": ["echo", "pid"]})
    await on.started("bad")
    before = await on.call("bad_pid")
    with pytest.raises(ToolFailed, match=r"can't be sent: one contains half a character|nested deeper than 100 levels"):
        await on.call("bad_echo", q=given)
    assert await on.call("bad_pid") == before, "the connection stays open"


async def test_arguments_reach_the_server_unchanged(on: McpHarness) -> None:
    on.server("s", {"tools": ["echo"]})
    toolbox = Toolbox(on.client)
    await on.started("s")
    assert await toolbox.run(ToolCall("1", "s_echo", r'{"q": "\ud800"}'), scope()) == r'echo {"q": "\ufffd"}'
    for wrong in ("NaN", "1e999"):
        with pytest.raises(ToolFailed, match="not valid JSON"):
            await toolbox.run(ToolCall("1", "s_echo", f'{{"q": {wrong}}}'), scope())


def test_endless_listings_end() -> None:
    """The reading thread can't be stopped, and a reconnect would start another."""
    tools = {f"t{number}": {"inputSchema": {**EMPTY, "title": f"{number} of these"}} for number in range(50)}
    offer = read_listing(Server("s"), "s", "", tools, (), replace(DEFAULT_LIMITS, reading_seconds=0))
    assert len(offer.tools) < 50
    assert offer.warnings == (f"{50 - len(offer.tools)} of its tools are left out: reading took longer than 0 s",)


async def test_an_unchanged_list_is_not_a_change(on: McpHarness) -> None:
    on.server("s", {"tools": ["refuse", "echo"]})
    await on.started("s")
    before = on.client.toolkits()
    on.plan("s", tools=["refuse", "echo"], info={"instructions": "None of the list."})
    with pytest.raises(ToolFailed, match="no such thing"):
        await on.call("s_refuse")
    on.server("t")
    await on.client.refresh()
    await on.connected("t")
    on.plan("s", tools=["refuse", "echo", "more"])
    assert on.client.toolkits()[0] is before[0]
    with pytest.raises(ToolFailed, match="no such thing"):
        await on.call("s_refuse")
    await on.until(lambda: "s_more" in on.names())
    assert on.client.toolkits()[0] is not before[0]


async def test_list_changes_are_debounced(tmp_path: Path) -> None:
    async with mcp_harness(tmp_path, replace(QUICK, refresh_seconds=600)) as on:
        on.server("s", {"tools": ["renames", "lists"]})
        await on.started("s")
        await on.call("s_renames", to="first")
        await on.until(lambda: "s_first" in on.names())
        for number in range(200):
            await on.call("s_renames", to=f"name_{number}")
        assert await on.call("s_lists") == "2"


async def test_the_last_of_many_changes_counts(tmp_path: Path) -> None:
    async with mcp_harness(tmp_path, replace(QUICK, refresh_seconds=0.2)) as on:
        on.server("s", {"tools": ["renames"]})
        await on.started("s")
        for number in range(40):
            await on.call("s_renames", to=f"name_{number}")
        await on.until(lambda: "s_name_39" in on.names())


async def test_a_server_that_dies_between_lists_is_left(tmp_path: Path) -> None:
    async with mcp_harness(tmp_path, replace(QUICK, refresh_seconds=600)) as on:
        on.server("s", {"tools": ["rename", "die"]})
        await on.started("s")
        await on.call("s_rename")
        await on.until(lambda: "s_renamed" in on.names())
        with pytest.raises(ToolFailed, match="ended in the middle"):
            await on.call("s_die")
        async with asyncio.timeout(60):
            await on.until(lambda: on.state("s").status != "connected")
        await on.connected("s")
