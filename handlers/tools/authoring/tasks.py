"""One task of a toolkit file: the OpenAI function schema, hints per model size, and how the tool runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handlers.tools.authoring.hints import TIERS, Schema, as_it_is, read_hints
from handlers.tools.authoring.json_fields import category_in, check_known, fault_at_name, listed, required_text, texts
from handlers.tools.authoring.registration import card_of
from handlers.tools.authoring.schemas import IllegalSchema, plain
from routing.config.jsonfile import JsonObject
from routing.errors import ConfigError, Reason
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard, ToolText

_FUNCTION = ("name", "description", "parameters", "strict", "capabilityHints", "execute", "examples")
_TASK = ("type", "function", *_FUNCTION)
_HINTS = ("tiers", "category", "priority")
_HINT = ("description", "inputSchema")
_EXECUTE = ("command", "mcp", "confirm", "private")
_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}

Examples = Mapping[str, Sequence[str]] | Sequence[str]
"""Examples by tool name, or for the whole toolkit."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs in the sandbox. It gets the arguments as JSON on standard input and prints the result.
    `confirm` requires a confirmation of each call, `private` one where others see its results."""

    argv: tuple[str, ...]
    confirm: bool = False
    private: bool = False


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of an MCP server, by the server's name for it. `confirm` requires a confirmation even if the server calls
    the tool read-only, `private` one where others see its results."""

    server: str
    tool: str
    confirm: bool = False
    private: bool = False


Implementation = Program | McpTool


def card_in(
    task: JsonObject, category: str, examples: Examples, taken: Collection[str], proven: bool
) -> tuple[ToolCard, tuple[Reason, ...]]:
    """The tool's card and the ignored hints. `category` and `examples` come from the toolkit. Raises ConfigError."""
    function, hints = _function(task), _beside(task, "capabilityHints")
    name = required_text(function, "name")
    schema = function.child("parameters")
    own = ToolText(required_text(function, "description"), _NO_PARAMETERS if schema is None else schema.values)
    hinted = read_hints(hints and _checked(hints).values, own, as_it_is if proven else _usable)
    descriptions = {size: hinted.texts.get(size, own) for size in SIZES}
    own_examples = texts(function, "examples") or texts(task, "examples")
    with fault_at_name(function):
        if name in taken:
            raise ConfigError("The tool {tool} already exists: rename one of the two.", tool=name)
        card = card_of(
            name,
            {size: text.description for size, text in descriptions.items()},
            {size: text.parameters for size, text in descriptions.items()},
            category=hinted.category or category,
            examples=own_examples or (examples.get(name, ()) if isinstance(examples, Mapping) else examples),
            priority=hinted.priority,
            proven=proven,
        )
    words = "{file}: the tool {name}: {reason}; it is ignored."
    return card, tuple(Reason(words, file=task.file.origin, name=name, reason=reason) for reason in hinted.ignored)


def implementation_in(task: JsonObject) -> Implementation:
    """How the tool runs. Raises ConfigError if the task does not say."""
    execute = _beside(task, "execute")
    if execute is None:
        how = '{"command": ["program", "argument"]}, {"mcp": "server/tool"}'
        raise task.file.fault((*task.path, "execute"), "is missing: say how it runs, {how}", how=how)
    check_known(execute, _EXECUTE)
    confirm, private = execute.flag("confirm", False), execute.flag("private", False)
    if ("mcp" in execute.values) == ("command" in execute.values):
        raise task.file.fault(execute.path, "must have one of command and mcp")
    if "mcp" in execute.values:
        server, _, tool = required_text(execute, "mcp").partition("/")
        if not server or not tool:
            raise task.file.fault((*execute.path, "mcp"), 'must name a server and a tool of it, as "server/tool"')
        return McpTool(server, tool, confirm, private)
    place, argv = (*execute.path, "command"), execute.values["command"]
    if not isinstance(argv, list) or not argv or not all(isinstance(each, str) for each in argv) or not argv[0]:
        raise task.file.fault(place, "must be a list of strings: a program and its arguments")
    if any("\0" in each for each in argv):
        raise task.file.fault(place, "has a NUL character in it, which no program takes")
    return Program(tuple(argv), confirm, private)


def examples_in(root: JsonObject) -> Examples:
    """The example phrases of the toolkit, for all or by tool. Raises ConfigError."""
    given = root.values.get("examples", [])
    if not isinstance(given, dict):
        return texts(root, "examples")
    return {name: listed(root.file, ("examples", name), each) for name, each in given.items()}


def _function(task: JsonObject) -> JsonObject:
    """The function schema, which may be the task itself."""
    check_known(task, _TASK)
    if task.values.get("type", "function") != "function":
        raise task.file.fault((*task.path, "type"), 'must be "function"')
    function = task.child("function")
    if function is not None:
        check_known(function, _FUNCTION)
    return function or task


def _beside(task: JsonObject, key: str) -> JsonObject | None:
    """An optional object in the task or in its function."""
    return task.child(key) or (task.child("function") or task).child(key)


def _checked(hints: JsonObject) -> JsonObject:
    """Rejects misspelt hints, which would have no effect."""
    check_known(hints, _HINTS)
    category_in(hints)
    if not isinstance(hints.values.get("priority", 0), int | float):
        raise hints.file.fault((*hints.path, "priority"), "must be a number")
    tiers = hints.child("tiers")
    if tiers is not None:
        check_known(tiers, TIERS)
        for tier in tiers.values:
            hint = tiers.child(tier)
            if hint is not None:
                check_known(hint, _HINT)
    return hints


def _usable(schema: Schema) -> tuple[Schema, Reason | None]:
    try:
        plain(schema)
    except IllegalSchema as error:
        return schema, Reason("its schema {reason}", reason=error.reason)
    return schema, None
