"""Derives a tool's parameters (as JSON Schema) and texts from a function's signature and docstring."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

import typing_extensions
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ArgsKwargs, ErrorDetails

from handlers.tools.authoring.schemas import plain
from routing.errors import BadArguments, ConfigError
from routing.types.decisions import Size
from routing.types.tools import ToolScope

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):[ \t]*$", re.MULTILINE)
_ARGUMENT = re.compile(r"(?P<indent>[ \t]+)(?P<name>\w+)(?: *\([^)]*\))?: *(?P<text>.*)")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MAX_PROBLEMS = 3
_PROBLEMS: Mapping[str, str] = {
    **dict.fromkeys(("unexpected_keyword_argument", "extra_forbidden"), "there is no {name}"),
    **dict.fromkeys(("missing_keyword_only_argument", "missing"), "{name}: missing"),
    **dict.fromkeys(("dict_type", "dataclass_type", "model_type"), "{name}: must be an object"),
}
"""Words for a model, which writes JSON, by pydantic's type of error. Others keep pydantic's words."""


class _Generator(GenerateJsonSchema):
    """Omits defaults that are not JSON, without a warning to the author."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}


class Signature:
    """The parameters of a tool's function, except a leading `scope: ToolScope`. Raises ConfigError with the tool, the
    parameter and how to fix it."""

    def __init__(self, tool: str, parameters: Sequence[inspect.Parameter], scoped: bool) -> None:
        def arguments(**given: Any) -> dict[str, Any]:
            return given

        self.scoped = scoped
        self._tool = tool
        reader: Any = arguments  # neither `__signature__` nor a TypeAdapter of a function is typed
        reader.__annotations__ = {each.name: _compatible(each.annotation) for each in parameters}
        try:
            reader.__signature__ = inspect.Signature(parameters)
            self._reader: TypeAdapter[dict[str, Any]] = TypeAdapter(reader)
            schema = self._reader.json_schema(schema_generator=_Generator)
        except (PydanticUserError, NameError, TypeError, ValueError, RecursionError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise ConfigError(
                "The parameters of the tool {tool} can't be described to a model: {error}. "
                "Use plain types: str, int, float, bool, list, dict, Literal, Enum, dataclass, TypedDict, BaseModel.",
                tool=tool,
                error=reason,
            ) from error
        del schema["additionalProperties"]
        self.schema = plain(schema, proven=True)

    @classmethod
    def of(cls, tool: str, function: Callable[..., object], local: Mapping[str, Any]) -> Signature:
        """`local` contains the names in the defining scope, to resolve local types."""
        try:
            hints = typing.get_type_hints(function, localns=dict(local), include_extras=True)
            parameters = list(inspect.signature(function).parameters.values())
        except (NameError, TypeError, ValueError) as error:
            raise ConfigError("The types of the tool {tool} can't be read: {error}.", tool=tool, error=error) from error
        scoped = bool(parameters) and hints.get(parameters[0].name) is ToolScope
        texts = arguments_of(inspect.getdoc(function) or "")
        own = [_named(tool, each, hints, texts.get(each.name, "")) for each in parameters[scoped:]]
        return cls(tool, own, scoped)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Converts the arguments to the annotated types. Raises BadArguments."""
        try:
            return self._reader.validate_python(ArgsKwargs((), dict(given)))
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False)
            problems = "; ".join(map(_problem, wrong[:_MAX_PROBLEMS]))
            raise BadArguments(f"The arguments of {self._tool} are wrong ({problems}).") from None


def _problem(wrong: ErrorDetails) -> str:
    words = _PROBLEMS.get(wrong["type"], "{name}: {message}")
    return words.format(name=".".join(map(str, wrong["loc"])), message=wrong["msg"])


def _named(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any], text: str) -> inspect.Parameter:
    """The parameter with its type, and with the description `text` unless the type has one."""
    place = {"parameter": parameter.name, "tool": tool}
    if parameter.kind not in _NAMED:
        words = "The parameter {parameter} of the tool {tool} has no name: write its parameters out, by name."
        raise ConfigError(words, **place)
    if parameter.name not in hints:
        words = "The parameter {parameter} of the tool {tool} has no type: write `{parameter}: str`, for instance."
        raise ConfigError(words, **place)
    hint = hints[parameter.name]
    notes = getattr(hint, "__metadata__", ())
    description = next((note for note in notes if isinstance(note, str)), text)
    if description and (
        description != text or not any(isinstance(note, FieldInfo) and note.description for note in notes)
    ):
        hint = Annotated[hint, Field(description=description)]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hint)


def texts_of(function: Callable[..., object]) -> dict[Size, str]:
    """The docstring by size: S is its first sentence, M its first paragraph, XL everything before its sections."""
    text = _SECTION.split(inspect.getdoc(function) or "", maxsplit=1)[0].strip()
    first = " ".join(text.split("\n\n", 1)[0].split())
    whole = "\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    return {"S": _SENTENCE.split(first, maxsplit=1)[0], "M": first, "XL": whole} if text else {}


def arguments_of(docstring: str) -> dict[str, str]:
    """The description of each parameter in the section `Args:`."""
    found: dict[str, str] = {}
    parts = _SECTION.split(docstring)
    for header, body in zip(parts[1::2], parts[2::2], strict=True):
        if header not in ("Args", "Arguments", "Parameters"):
            continue
        indent, name = "", ""
        for line in filter(str.strip, body.splitlines()):
            match = _ARGUMENT.fullmatch(line)
            if match and (not indent or match["indent"] == indent):
                indent, name = match["indent"], match["name"]
                found[name] = match["text"].strip()
            elif name and line.startswith(indent):
                found[name] = f"{found[name]} {line.strip()}".strip()
            else:
                break
    return found


def _compatible(hint: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Replaces TypedDicts that pydantic rejects before Python 3.12."""
    if hint in inside:
        return hint
    if typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        keys = typing.get_type_hints(hint, include_extras=True)
        fields = {key: _key(value, key in hint.__required_keys__, (*inside, hint)) for key, value in keys.items()}
        remade: Any = typing_extensions.TypedDict
        return remade(hint.__name__, fields)
    arguments = get_args(hint)
    new = tuple(_compatible(each, inside) if isinstance(each, type) or get_args(each) else each for each in arguments)
    if new == arguments:
        return hint
    origin = get_origin(hint)
    if origin is Annotated:
        return Annotated[(new[0], *arguments[1:])]
    return Union[new] if origin in (Union, types.UnionType) else origin[new]  # noqa: UP007 - `new` is a tuple


def _key(hint: Any, is_required: bool, inside: tuple[Any, ...]) -> Any:
    wrapper = get_origin(hint)
    if wrapper in (typing.Required, typing.NotRequired):
        hint, is_required = get_args(hint)[0], wrapper is typing.Required
    replaced = _compatible(hint, inside)
    return typing_extensions.Required[replaced] if is_required else typing_extensions.NotRequired[replaced]
