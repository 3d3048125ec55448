"""Tools as decorated functions and methods. See docs/tools.md for examples."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack, overload

from pydantic_core import to_json

from handlers.tools.authoring.schemas import names, narrowed
from handlers.tools.authoring.signatures import Signature, texts_of
from handlers.tools.authoring.tool import PLAIN, Asks, Tool
from routing.errors import ConfigError, ToolFailed
from routing.types.decisions import SIZES, Size
from routing.types.people import ROLES, Role
from routing.types.toolkits import ToolCard
from routing.types.tools import ToolScope, Traits

LARGEST: Size = SIZES[-1]
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
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


class Settings(TypedDict, total=False):
    """What `@tool` takes. `descriptions` are per size class, or one for all; a missing size uses the next larger one,
    then the next smaller one. Without them, models see the function's docstring, and its `Args:` section describes the
    parameters. `parameters` lists the parameters shown per size class (default: all). `examples` are what people say
    when they need the tool. `off`, `asks` and `describe` are as in Tool; `asks` takes the tool's parameters. For a
    method, these three are methods of the same class, and `traits` may be one that returns the traits. `accounts` are
    kinds of account, of which the person needs one."""

    name: str
    category: str
    descriptions: str | Mapping[Size, str] | None
    parameters: Mapping[Size, Iterable[str]] | None
    examples: Iterable[str]
    priority: float
    role: Role
    traits: Traits | Callable[[Any], Traits]
    off: Callable[..., Awaitable[str | None]]
    asks: Callable[..., str | Awaitable[str | None] | None]
    describe: Callable[..., ToolCard]
    accounts: tuple[str, ...]


class FunctionTool(Generic[P, R]):
    """A function or method as a tool. It can still be called as such. It may be async; otherwise the bot runs it in a
    thread. It returns a text, `ok(…)`, `error(…)`, or any value that JSON can represent."""

    def __init__(self, function: Callable[P, R], local: Mapping[str, Any], settings: Settings) -> None:
        descriptions, examples = settings.get("descriptions"), settings.get("examples", ())
        self.function = function
        self.name = settings.get("name", "") or str(getattr(function, "__name__", ""))
        self.category = settings.get("category", "")
        self.descriptions = texts_of(function) if descriptions is None else descriptions
        self.examples = tuple(examples) if isinstance(examples, Iterator) else examples  # checked at registration
        self.priority = settings.get("priority", 0.0)
        self.role = settings.get("role", "user")
        self.traits: Any = settings.get("traits", PLAIN)  # for an unbound method, possibly a function that returns them
        self.off = settings.get("off")
        self.describe = settings.get("describe")
        self.accounts = settings.get("accounts", ())
        self._asks = settings.get("asks")
        self._shown = settings.get("parameters") or {}
        self._local = local

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self: FunctionTool[Concatenate[Any, Q], R], owner: object, kind: type) -> FunctionTool[Q, R]: ...
    def __get__(self, owner: object, kind: type) -> Any:
        """Binds a method, and the methods among its settings, to the object."""
        if owner is None:
            return self
        bound = copy(self)
        for name in ("function", "off", "describe", "_asks"):
            if callable(method := getattr(self, name)):
                setattr(bound, name, MethodType(method, owner))
        bound.traits = self.traits(owner) if callable(self.traits) else self.traits
        return bound

    @property
    def parameters(self) -> Mapping[Size, Mapping[str, Any]]:
        """The schema by size class. Raises ConfigError for types without a JSON Schema."""
        schema = self._signature.schema
        if not isinstance(self._shown, Mapping):
            words = "The parameters of the tool {tool} are {value!r}: give a list of names for each size, such as S."
            raise ConfigError(words, tool=self.name, value=self._shown)
        return {LARGEST: schema} | {
            size: narrowed(schema, self._names(size, shown, schema)) for size, shown in self._shown.items()
        }

    def _names(self, size: Size, shown: object, schema: Mapping[str, Any]) -> tuple[str, ...]:
        """Raises ConfigError unless these are parameters of the function."""
        if isinstance(shown, str) or not isinstance(shown, Iterable):
            words = (
                "The parameters of the tool {tool} for {size} are {value!r}: give a list of names, such as {example}."
            )
            raise ConfigError(words, tool=self.name, size=size, value=shown, example=f'["{shown}"]')
        given = tuple(shown)
        unknown = next((name for name in given if name not in names(schema)), None)
        if unknown is not None:
            known = ", ".join(names(schema)) or "-"
            words = "The tool {tool} has no parameter {parameter!r}, which {size} should be shown: there are {known}."
            raise ConfigError(words, tool=self.name, parameter=unknown, size=size, known=known)
        return given

    async def call(self, scope: ToolScope, arguments: Mapping[str, Any]) -> object:
        """Calls the function with its arguments converted to the annotated types."""
        return await self._call(self.function, scope, arguments)

    @property
    def asks(self) -> Asks | None:
        """As in Tool."""
        asks = self._asks
        return asks and (lambda scope, /, **input: self._call(asks, scope, input))

    async def _call(self, function: Callable[..., object], scope: ToolScope, input: Mapping[str, Any]) -> Any:
        named = self._signature.arguments(input)
        return await _asynchronous(function)(*((scope,) if self._signature.scoped else ()), **named)

    @cached_property
    def _signature(self) -> Signature:
        return Signature.of(self.name, self.function, self._local)


Tools = tuple[FunctionTool[..., Any], ...]


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(**settings: Unpack[Settings]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., object] | None = None, /, **settings: Unpack[Settings]) -> object:
    """Turns a typed function into a tool. A first parameter `scope: ToolScope` is hidden from models."""
    local = sys._getframe(1).f_locals
    if function is not None:
        return FunctionTool(function, local, settings)
    return lambda written: FunctionTool(written, local, settings)


async def run(tool: FunctionTool[P, R], arguments: Mapping[str, Any], scope: ToolScope, size: Size = LARGEST) -> str:
    """The result text for a model of this size class. Raises ToolFailed with the text of an `error`, and BadArguments
    for arguments of the wrong types."""
    return await runnable(tool).execute(replace(scope, size=size), **arguments)


def tools_of(owner: object) -> Tools:
    """The decorated methods of an object, in the order of their definition."""
    kinds = reversed(type(owner).__mro__)
    names = dict.fromkeys(name for kind in kinds for name, each in vars(kind).items() if isinstance(each, FunctionTool))
    return tuple(getattr(owner, name) for name in names)


def role_of(tool: FunctionTool[..., Any]) -> Role:
    """The minimum role for calls. Raises ConfigError for an unknown role."""
    if tool.role not in _MAY:
        words = "The tool {tool} has the role {role!r}: give it one of {choices}."
        raise ConfigError(words, tool=tool.name, role=tool.role, choices=", ".join(_MAY))
    return tool.role


def check_settings(tool: FunctionTool[..., Any]) -> None:
    """Raises ConfigError for settings that are no functions, or no traits."""
    if not isinstance(tool.traits, Traits):
        words = "The tool {tool} has traits={value!r}: give it Traits(…), or a method that returns them."
        raise ConfigError(words, tool=tool.name, value=tool.traits)
    for setting, given in (("off", tool.off), ("asks", tool._asks), ("describe", tool.describe)):
        if given is not None and not callable(given):
            words = "The tool {tool} has {setting}={value!r}: give it a function, or leave it out."
            raise ConfigError(words, tool=tool.name, setting=setting, value=given)


def runnable(tool: FunctionTool[..., Any]) -> Tool:
    """The tool for a toolbox. Raises ConfigError for an unknown role, and for settings that are no functions."""
    check_settings(tool)

    async def execute(scope: ToolScope, /, **arguments: Any) -> str:
        return _result_text(await tool.call(scope, arguments))

    return Tool(tool.name, execute, role_of(tool), tool.traits, tool.off, tool.describe, tool.asks, tool.accounts)


def _asynchronous(function: Callable[..., object]) -> Callable[..., Awaitable[object]]:
    """The function itself if it is async, else one that runs it in a thread."""
    if inspect.iscoroutinefunction(function):
        return function

    async def threaded(*args: Any, **kwargs: Any) -> object:
        given = await asyncio.to_thread(function, *args, **kwargs)
        return await given if inspect.isawaitable(given) else given

    return threaded


def _result_text(given: object) -> str:
    value = given.value if isinstance(given, Result) else given
    text = value if isinstance(value, str) else "" if value is None else to_json(value, fallback=str).decode()
    if isinstance(given, Result) and given.failed:
        raise ToolFailed(text or "It failed without giving a reason.")
    return text
