"""What is offered to whom, how arguments are checked, and that a tool may fail in any way."""

from __future__ import annotations

import asyncio
import json

import pytest

from handlers.tools.arguments import Arguments
from handlers.tools.tool import Registered, Tool
from handlers.tools.toolbox import Toolbox
from routing.calls import ToolCall, ToolSpec
from routing.errors import BadArguments, StorageFault, ToolFailed
from routing.outcome import ToolScope
from routing.types import Person, TierDecision

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["path"],
}
GUEST, USER = Person(1, "guest", "Gus"), Person(2, "user", "Una")


def scope(person: Person = USER) -> ToolScope:
    return ToolScope(person, 1, TierDecision("balanced", "default", "default"))


async def echo(_scope: ToolScope, path: str, count: int = 1) -> str:
    return path * count


async def breaks(_scope: ToolScope, path: str) -> str:
    raise RuntimeError("secret detail")


async def disk_full(_scope: ToolScope, path: str) -> str:
    raise StorageFault("The disk is full.")


async def missing() -> str | None:
    return "its program is missing"


def box() -> Toolbox:
    tools = (Tool("echo", echo), Tool("breaks", breaks), Tool("full", disk_full), Tool("open", echo, role="guest"))
    known = [Registered(tool, ToolSpec(tool.name, "…", SCHEMA)) for tool in (*tools, Tool("off", echo, off=missing))]
    return Toolbox(known)


async def run(name: str, arguments: str, person: Person = USER) -> str:
    return await box().run(ToolCall("1", name, arguments), scope(person))


async def test_a_role_sees_its_own_tools_and_none_that_is_off() -> None:
    assert [spec.name for spec in await box().offered(USER)] == ["echo", "breaks", "full", "open"]
    assert [spec.name for spec in await box().offered(GUEST)] == ["open"]
    assert await box().off(USER) == {"off": "its program is missing"} and await box().off(GUEST) == {}


async def test_arguments_reach_the_function_by_name() -> None:
    assert await run("echo", json.dumps({"path": "ab", "count": 2})) == "abab"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ("", "'path' is a required property"),
        ('{"path": 3}', "path: 3 is not of type 'string'"),
        ('{"path": "a", "count": "two"}', "count: 'two' is not of type 'integer'"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
async def test_wrong_arguments_are_explained_with_the_schema(arguments: str, reason: str) -> None:
    with pytest.raises(BadArguments) as found:
        await run("echo", arguments)
    assert reason in str(found.value) and json.dumps(SCHEMA) in str(found.value) and len(str(found.value)) < 900


async def test_an_argument_that_the_tool_does_not_know_is_explained() -> None:
    with pytest.raises(BadArguments, match="colour"):
        await run("echo", '{"path": "a", "colour": "red"}')


async def test_a_null_leaves_out_what_need_not_be_given() -> None:
    assert await run("echo", '{"path": "ab", "count": null}') == "ab"
    with pytest.raises(BadArguments, match="path: None is not of type 'string'"):
        await run("echo", '{"path": null}')
    with pytest.raises(BadArguments, match="colour"):
        await run("echo", '{"path": "a", "colour": null}')


@pytest.mark.parametrize(
    ("schema", "read"),
    [
        ({"type": "integer", "default": 3}, {}),
        ({"$ref": "#/$defs/count"}, {}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {}),
        ({"type": ["integer", "null"]}, {"count": None}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"count": None}),
        ({"enum": [1, None]}, {"count": None}),
        ({}, {"count": None}),
        (True, {"count": None}),
    ],
)
async def test_a_null_that_the_schema_allows_is_a_value(schema: object, read: dict[str, None]) -> None:
    asked = {"type": "object", "properties": {"count": schema}, "$defs": {"count": {"type": "integer"}}}
    assert await Arguments().read(ToolCall("1", "t", '{"count": null}'), ToolSpec("t", "…", asked)) == read


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/$defs/nowhere"}, {"$ref": "#/properties/list"}, {"items": [{"type": "string"}]}]
)
async def test_a_schema_that_cannot_be_followed_is_left_to_the_tool(schema: dict[str, object]) -> None:
    asked, call = {"type": "object", "properties": {"list": schema}}, ToolCall("1", "t", '{"list": ["a"]}')
    assert await Arguments().read(call, ToolSpec("t", "…", asked)) == {"list": ["a"]}


async def test_two_schemas_of_one_name_are_told_apart() -> None:
    arguments, call = Arguments(), ToolCall("1", "echo", '{"path": "a", "count": 2}')
    short = {"type": "object", "properties": {"path": {"type": "string"}}}
    for _ in range(2):
        assert await arguments.read(call, ToolSpec("echo", "…", SCHEMA)) == {"path": "a", "count": 2}
        with pytest.raises(BadArguments, match="count"):
            await arguments.read(call, ToolSpec("echo", "…", short))


@pytest.mark.parametrize("name", ["nothing", "echo", ""])
async def test_there_is_no_tool_that_the_role_forbids(name: str) -> None:
    with pytest.raises(ToolFailed, match="There is no tool") as found:
        await run(name, '{"path": "a"}', GUEST)
    assert "There are: open." in str(found.value)


async def test_a_tool_that_raises_is_in_the_log_and_not_in_the_words(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ToolFailed, match=r"breaks failed inside \(RuntimeError\)") as found:
        await run("breaks", '{"path": "a"}')
    assert "secret detail" in caplog.text and "secret detail" not in str(found.value)


async def test_a_fault_of_the_storage_is_said() -> None:
    with pytest.raises(ToolFailed, match="The disk is full"):
        await run("full", '{"path": "a"}')


async def test_a_cancelled_tool_is_cancelled() -> None:
    async def waits(_scope: ToolScope) -> str:
        await asyncio.Event().wait()
        return ""

    waiting = Registered(Tool("waits", waits), ToolSpec("waits", "…", {"type": "object"}))
    work = asyncio.create_task(Toolbox([waiting]).run(ToolCall("1", "waits", "{}"), scope()))
    await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
