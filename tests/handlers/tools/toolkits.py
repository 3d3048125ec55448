"""A toolkit with working, broken and disabled tools, and a toolbox with it."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.errors import StorageFault
from routing.types.decisions import SIZES, TierDecision
from routing.types.llm import ToolCall
from routing.types.people import Person
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope

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
    return Toolbox(source_of(*tools, Tool("off", echo, off=missing)))


def source_of(*tools: Tool, schema: Mapping[str, object] = SCHEMA, name: str = "kit") -> BuiltinSource:
    text = ToolText("…", schema)
    cards = tuple(ToolCard(tool.name, dict.fromkeys(SIZES, text)) for tool in tools)
    return BuiltinSource([BoundToolkit(Toolkit(name, "A kit.", tools=cards), tools)])


async def run(name: str, arguments: str, person: Person = USER) -> str:
    return await box().run(ToolCall("1", name, arguments), scope(person))


NOTHING = {"type": "object", "properties": {}}
