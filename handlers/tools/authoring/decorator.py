"""Tools as decorated functions or as classes. See docs/tools.md for examples."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypedDict, Unpack, overload

from pydantic_core import to_json

from handlers.tools.authoring.schemas import names, narrowed
from handlers.tools.authoring.signatures import Signature, texts_of
from handlers.tools.authoring.tool import PLAIN, Execute, Tool
from routing.errors import ConfigError, ToolFailed
from routing.types.decisions import SIZES, Size
from routing.types.people import ROLES, Role
from routing.types.tools import ToolScope, Traits

LARGEST: Size = SIZES[-1]
_MAY: tuple[Role, ...] = tuple(role for role in ROLES if role != "blocked")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call. `failed` means that the model should retry, work around it or tell the person."""

    value: object
    failed: bool = False


def ok(value: object) -> Result:
    """A successful result: a text, or any value that JSON can represent."""
    return Result(value)


def error(text: str) -> Result:
    """A failed result. The text says what went wrong and what would work."""
    return Result(text, failed=True)


class AuthoredTool(Protocol):
    """The interface of a tool. Texts and schemas are given per size class, or once for all; a missing size uses the
    next larger one, then the next smaller one. A JSON Schema can be replaced by Python types by name, such as `{"city":
    str, "days": (int, 3)}`, where 3 is a default. Optional attributes: `examples` (what people say when they need the
    tool), `priority`, `role`, `traits`. `execute` may be async; otherwise it runs in a thread. If it has a parameter
    `scope`, it gets the person and conversation it runs for. It returns a text, `ok(…)`, `error(…)`, or any value that
    JSON can represent."""

    @property
    def name(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def descriptions(self) -> str | Mapping[Size, str]: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def execute(self) -> Callable[..., object]: ...


class Settings(TypedDict, total=False):
    """What `@tool` takes. Without `descriptions`, models see the function's docstring, and its `Args:` section
    describes the parameters. `parameters` lists the parameters shown per size class (default: all)."""

    name: str
    category: str
    descriptions: str | Mapping[Size, str] | None
    parameters: Mapping[Size, Iterable[str]] | None
    examples: Iterable[str]
    priority: float
    role: Role
    traits: Traits


class FunctionTool:
    """A function as a tool. It can still be called as a function."""

    def __init__(self, function: Callable[..., object], local: Mapping[str, Any], settings: Settings) -> None:
        descriptions, examples = settings.get("descriptions"), settings.get("examples", ())
        self.function = function
        self.name = settings.get("name", "") or str(getattr(function, "__name__", ""))
        self.category = settings.get("category", "")
        self.descriptions = texts_of(function) if descriptions is None else descriptions
        self.examples = tuple(examples) if isinstance(examples, Iterator) else examples  # checked at registration
        self.priority = settings.get("priority", 0.0)
        self.role = settings.get("role", "user")
        self.traits = settings.get("traits", PLAIN)
        self._shown = settings.get("parameters") or {}
        self._local = local

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The schema by size class. Raises ConfigError for types without a JSON Schema."""
        schema = self._signature.schema
        return {LARGEST: schema} | {
            size: narrowed(schema, self._names(size, shown, schema)) for size, shown in self._shown.items()
        }

    def _names(self, size: Size, shown: object, schema: Mapping[str, Any]) -> tuple[str, ...]:
        """Raises ConfigError unless these are parameters of the function."""
        if isinstance(shown, str) or not isinstance(shown, Iterable):
            raise ConfigError(
                "The parameters of the tool {tool} for {size} are {value!r}: give a list of names, such as {example}.",
                tool=self.name,
                size=size,
                value=shown,
                example=f'["{shown}"]',
            )
        given = tuple(shown)
        unknown = next((name for name in given if name not in names(schema)), None)
        if unknown is not None:
            known = ", ".join(names(schema)) or "-"
            raise ConfigError(
                "The tool {tool} has no parameter {parameter!r}, which {size} should be shown: there are {known}.",
                tool=self.name,
                parameter=unknown,
                size=size,
                known=known,
            )
        return given

    async def execute(self, input: Mapping[str, Any], size: Size, scope: ToolScope | None = None) -> object:
        """Calls the function with its arguments converted to the annotated types."""
        named = self._signature.arguments(input)
        return await _called(self.function, *((scope,) if self._signature.scoped else ()), **named)

    @cached_property
    def _signature(self) -> Signature:
        return Signature.of(self.name, self.function, self._local)


@overload
def tool(function: Callable[..., object], /) -> FunctionTool: ...
@overload
def tool(**settings: Unpack[Settings]) -> Callable[[Callable[..., object]], FunctionTool]: ...
def tool(
    function: Callable[..., object] | None = None, /, **settings: Unpack[Settings]
) -> FunctionTool | Callable[[Callable[..., object]], FunctionTool]:
    """Turns a typed function into a tool. A first parameter `scope: ToolScope` is hidden from models."""
    local = sys._getframe(1).f_locals
    if function is not None:
        return FunctionTool(function, local, settings)
    return lambda written: FunctionTool(written, local, settings)


async def run(tool: AuthoredTool, arguments: Mapping[str, Any], scope: ToolScope, size: Size = LARGEST) -> str:
    """The result text for a model of this size class. Raises ToolFailed with the text of an `error`, and BadArguments
    for arguments of the wrong types."""
    scoped = {"scope": scope} if "scope" in inspect.signature(tool.execute).parameters else {}
    return _told(await _called(tool.execute, arguments, size, **scoped))


def role_of(tool: AuthoredTool) -> Role:
    """The minimum role for calls. Raises ConfigError for an unknown role."""
    given = getattr(tool, "role", "user")
    role = next((each for each in _MAY if each == given), None)
    if role is None:
        words = "The tool {tool} has the role {role!r}: give it one of {choices}."
        raise ConfigError(words, tool=tool.name, role=given, choices=", ".join(_MAY))
    return role


def runnable(tool: AuthoredTool) -> Tool:
    """Adapts the tool for the toolbox. Raises ConfigError for an unknown role."""

    async def execute(scope: ToolScope, /, **arguments: Any) -> str:
        return await run(tool, arguments, scope, scope.size)

    execution: Execute = execute
    return Tool(tool.name, execution, role=role_of(tool), traits=getattr(tool, "traits", PLAIN))


async def _called(function: Callable[..., object], *args: Any, **kwargs: Any) -> object:
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    given = await asyncio.to_thread(function, *args, **kwargs)
    return await given if inspect.isawaitable(given) else given


def _told(given: object) -> str:
    value = given.value if isinstance(given, Result) else given
    text = value if isinstance(value, str) else "" if value is None else to_json(value, fallback=str).decode()
    if isinstance(given, Result) and given.failed:
        raise ToolFailed(text or "It failed without giving a reason.")
    return text
