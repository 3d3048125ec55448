"""Derives a tool's parameters (as JSON Schema) and texts from a function's signature and docstring."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin

import typing_extensions
from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from handlers.tools.authoring.schemas import plain
from routing.errors import BadArguments, ConfigError
from routing.types.decisions import Size
from routing.types.tools import ToolScope

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):[ \t]*$", re.MULTILINE)
_ARGUMENT = re.compile(r"(?P<indent>[ \t]+)(?P<name>\w+)(?: *\([^)]*\))?: *(?P<text>.*)")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MAX_COMPLAINTS = 3


class _Generator(GenerateJsonSchema):
    """Omits defaults that are not JSON, without a warning to the author."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}


class Signature:
    """A function's parameters, except a leading `scope: ToolScope`. Raises ConfigError with the tool, the parameter and
    how to fix it. `local` contains the names in the defining scope, to resolve local types."""

    def __init__(self, tool: str, function: Callable[..., object], local: Mapping[str, Any]) -> None:
        self._tool = tool
        try:
            hints = typing.get_type_hints(function, localns=dict(local), include_extras=True)
            parameters = list(inspect.signature(function).parameters.values())
        except (NameError, TypeError, ValueError) as error:
            raise ConfigError("The types of the tool {tool} can't be read: {error}.", tool=tool, error=error) from error
        self.scoped = bool(parameters) and hints.get(parameters[0].name) is ToolScope
        texts = arguments_of(inspect.getdoc(function) or "")
        self._names: dict[str, str] = {}
        self._given: set[str] = set()
        fields: dict[str, Any] = {}
        for index, parameter in enumerate(parameters[self.scoped :]):
            field = f"p{index}"  # the author's own name might be special in pydantic
            self._names[field] = parameter.name
            fields[field] = self._field(parameter, hints.get(parameter.name), texts.get(parameter.name))
            if isinstance(parameter.default, FieldInfo):
                self._given.add(field)
        self._model, self.schema = self._built(fields)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Converts the arguments to the annotated types. Raises BadArguments."""
        try:
            read = self._model.model_validate(dict(given), by_alias=True)
            wrong = [f"there is no {name}" for name in given if name not in self._names.values()]
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
        if wrong:
            raise BadArguments(f"The arguments of {self._tool} are wrong ({'; '.join(wrong[:_MAX_COMPLAINTS])}).")
        return {self._names[field]: getattr(read, field) for field in self._names if self._is_given(field, read)}

    def _is_given(self, field: str, read: BaseModel) -> bool:
        return field in read.model_fields_set or field in self._given

    def _field(self, parameter: inspect.Parameter, hint: Any, text: str | None) -> tuple[Any, Any]:
        place = {"parameter": parameter.name, "tool": self._tool}
        if parameter.kind not in _NAMED:
            words = "The parameter {parameter} of the tool {tool} has no name: write its parameters out, by name."
            raise ConfigError(words, **place)
        if hint is None:
            words = "The parameter {parameter} of the tool {tool} has no type: write `{parameter}: str`, for instance."
            raise ConfigError(words, **place)
        said = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
        described = any(isinstance(note, FieldInfo) and note.description for note in getattr(hint, "__metadata__", ()))
        if said or (text and not described):
            field = Field(alias=parameter.name, description=said[0] if said else text)
        else:
            field = Field(alias=parameter.name)
        default = ... if parameter.default is parameter.empty else parameter.default
        return Annotated[_mended(hint), field], default

    def _built(self, fields: dict[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
        try:
            model = create_model("Arguments", **fields)
            schema = model.model_json_schema(by_alias=True, schema_generator=_Generator)
        except (PydanticUserError, NameError, TypeError, RecursionError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise ConfigError(
                "The parameters of the tool {tool} can't be described to a model: {error}. "
                "Use plain types: str, int, float, bool, list, dict, Literal, Enum, dataclass, TypedDict, BaseModel.",
                tool=self._tool,
                error=reason,
            ) from error
        return model, plain(schema, proven=True)


def is_typed(parameters: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether these are Python types by name, with optional defaults, and not a JSON Schema."""
    if not isinstance(parameters, Mapping) or not parameters:
        return False
    return all(
        _is_type(each[0] if isinstance(each, tuple) and len(each) == 2 else each) for each in parameters.values()
    )


def typed_schema(tool: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of Python types by name; a tuple is a type with its default. Raises ConfigError with the tool,
    the parameter and how to fix it."""

    def function() -> None: ...

    given = {
        name: each if isinstance(each, tuple) else (each, inspect.Parameter.empty) for name, each in parameters.items()
    }
    wrong = next((name for name in given if not isinstance(name, str) or not name.isidentifier()), None)
    if wrong is not None:
        raise ConfigError(
            "The parameter {parameter!r} of the tool {tool} is no name in Python: write a JSON Schema for it.",
            parameter=wrong,
            tool=tool,
        )
    function.__annotations__ = {name: hint for name, (hint, _) in given.items()}
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, (_, default) in given.items()
    ]
    function.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return Signature(tool, function, {}).schema


def _is_type(value: object) -> bool:
    return isinstance(value, type) or get_origin(value) is not None or isinstance(value, types.UnionType)


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


def _mended(hint: Any, inside: tuple[Any, ...] = ()) -> Any:
    """Replaces TypedDicts that pydantic rejects before Python 3.12."""
    if hint in inside:
        return hint
    if typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        keys = typing.get_type_hints(hint, include_extras=True)
        fields = {key: _key(value, key in hint.__required_keys__, (*inside, hint)) for key, value in keys.items()}
        remade: Any = typing_extensions.TypedDict
        return remade(hint.__name__, fields)
    arguments = get_args(hint)
    new = tuple(_mended(each, inside) if isinstance(each, type) or get_args(each) else each for each in arguments)
    if new == arguments:
        return hint
    origin = get_origin(hint)
    if origin is Annotated:
        return Annotated[(new[0], *arguments[1:])]
    return Union[new] if origin in (Union, types.UnionType) else origin[new]  # noqa: UP007


def _key(hint: Any, is_required: bool, inside: tuple[Any, ...]) -> Any:
    wrapper = get_origin(hint)
    if wrapper in (typing.Required, typing.NotRequired):
        hint, is_required = get_args(hint)[0], wrapper is typing.Required
    mended = _mended(hint, inside)
    return typing_extensions.Required[mended] if is_required else typing_extensions.NotRequired[mended]
