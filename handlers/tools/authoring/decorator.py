"""How tools are written: a typed function with a decorator, or a class; docs/tools.md has an example of each."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

from pydantic_core import to_json

from handlers.tools.authoring.schemas import names, narrowed
from handlers.tools.authoring.signatures import Signature, texts_of
from handlers.tools.authoring.tool import PLAIN, Execute, Tool
from routing.errors import ConfigError, ToolFailed
from routing.types.people import ROLES, Role
from routing.types.sizes import SIZES, Size
from routing.types.tools import ToolScope, Traits

LARGEST: Size = SIZES[-1]
_MAY: tuple[Role, ...] = tuple(role for role in ROLES if role != "blocked")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call; `failed` for what the model should mend, work around or tell the person."""

    value: object
    failed: bool = False


def ok(value: object) -> Result:
    """It worked: a text, or anything that JSON can say."""
    return Result(value)


def error(text: str) -> Result:
    """It did not: why, and what would work."""
    return Result(text, failed=True)


class AuthoredTool(Protocol):
    """What a tool has to have. The texts and schemas are by size class, or one for all; for a class without its own,
    the next larger's holds, then the next smaller's. Instead of a JSON Schema there may be Python types by name, such
    as `{"city": str, "days": (int, 3)}`, where 3 is a default. It may have more: `examples` (what people say when they
    need it), `priority`, `role`, `traits`. `execute` may be async, else it runs in a thread; one with a parameter
    `scope` is told on whose behalf it runs. It gives a text, `ok(…)`, `error(…)`, or anything that JSON can say."""

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


class FunctionTool:
    """A function as a tool; called, it still is the function."""

    def __init__(self, function: Callable[..., object], local: Mapping[str, Any], settings: _Settings) -> None:
        self.function = function
        self.name = settings.name or getattr(function, "__name__", "")
        self.category = settings.category
        self.descriptions = texts_of(function) if settings.descriptions is None else settings.descriptions
        self.examples, self.priority = settings.examples, settings.priority
        self.role, self.traits = settings.role, settings.traits
        self._shown = settings.parameters
        self._local = local

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The schema by size class. Raises ConfigError for types that no schema can say."""
        schema = self._signature.schema
        return {LARGEST: schema} | {
            size: narrowed(schema, self._names(size, shown, schema)) for size, shown in self._shown.items()
        }

    def _names(self, size: Size, shown: object, schema: Mapping[str, Any]) -> tuple[str, ...]:
        """Raises ConfigError unless these are parameters of the function."""
        if isinstance(shown, str) or not isinstance(shown, Iterable):
            raise ConfigError(
                f"The parameters of the tool {self.name} for {size} are {shown!r}: give a list of names, such as "
                f'["{shown}"].'
            )
        given = tuple(shown)
        unknown = next((name for name in given if name not in names(schema)), None)
        if unknown is not None:
            known = ", ".join(names(schema)) or "none"
            raise ConfigError(
                f"The tool {self.name} has no parameter {unknown!r}, which {size} should be shown: there are {known}."
            )
        return given

    async def execute(self, input: Mapping[str, Any], size: Size, scope: ToolScope | None = None) -> object:
        """Call the function with its arguments, in the types that it asks for."""
        named = self._signature.arguments(input)
        return await _called(self.function, *((scope,) if self._signature.scoped else ()), **named)

    @cached_property
    def _signature(self) -> Signature:
        return Signature(self.name, self.function, self._local)


@dataclass(frozen=True, slots=True)
class _Settings:
    name: str
    category: str
    descriptions: str | Mapping[Size, str] | None
    parameters: Mapping[Size, Iterable[str]]
    examples: Iterable[str]
    priority: float
    role: Role
    traits: Traits


@overload
def tool(function: Callable[..., object], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str = "",
    category: str = "",
    descriptions: str | Mapping[Size, str] | None = None,
    parameters: Mapping[Size, Iterable[str]] | None = None,
    examples: Iterable[str] = (),
    priority: float = 0.0,
    role: Role = "user",
    traits: Traits = PLAIN,
) -> Callable[[Callable[..., object]], FunctionTool]: ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str = "",
    category: str = "",
    descriptions: str | Mapping[Size, str] | None = None,
    parameters: Mapping[Size, Iterable[str]] | None = None,
    examples: Iterable[str] = (),
    priority: float = 0.0,
    role: Role = "user",
    traits: Traits = PLAIN,
) -> FunctionTool | Callable[[Callable[..., object]], FunctionTool]:
    """Make a typed function a tool. Without `descriptions` its docstring is what models are told, with the texts of its
    section `Args:` for the parameters; `parameters` says which of them a size class is shown (all, where nothing is
    said). A first parameter `scope: ToolScope` is not told to models."""
    said = tuple(examples) if isinstance(examples, Iterator) else examples  # the rest is told when it is registered
    settings = _Settings(name, category, descriptions, parameters or {}, said, priority, role, traits)
    local = sys._getframe(1).f_locals
    if function is not None:
        return FunctionTool(function, local, settings)
    return lambda written: FunctionTool(written, local, settings)


async def run(tool: AuthoredTool, arguments: Mapping[str, Any], scope: ToolScope, size: Size = LARGEST) -> str:
    """The text for the model of this class. Raises ToolFailed with the text of an `error`; BadArguments for arguments
    that are not of the function's types."""
    scoped = {"scope": scope} if "scope" in inspect.signature(tool.execute).parameters else {}
    return _told(await _called(tool.execute, arguments, size, **scoped))


def role_of(tool: AuthoredTool) -> Role:
    """Who may have it called at least. Raises ConfigError for a role that there is not."""
    given = getattr(tool, "role", "user")
    role = next((each for each in _MAY if each == given), None)
    if role is None:
        raise ConfigError(f"The tool {tool.name} has the role {given!r}: give it one of {', '.join(_MAY)}.")
    return role


def runnable(tool: AuthoredTool) -> Tool:
    """The tool as the toolbox runs it. Raises ConfigError for a role that there is not."""

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
