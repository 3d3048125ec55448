"""Validates tools before any model sees them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from handlers.tools.authoring.decorator import FunctionTool, check_settings, role_of
from handlers.tools.authoring.schemas import IllegalSchema, names, plain, required
from routing.errors import ConfigError, Reason
from routing.llm.message_codec import MAX_NAME_CHARACTERS
from routing.types.decisions import SIZES, Size
from routing.types.llm import ToolSpec
from routing.types.toolkits import ToolCard, ToolText

_LEGAL = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{MAX_NAME_CHARACTERS - 1}}}")
"""OpenAI and Anthropic allow 64 letters, digits, `_` and `-`; Gemini requires a letter or `_` first."""
LEGAL = "1 to {limit} of the characters A-Z a-z 0-9 _ and -, the first a letter or _"

T = TypeVar("T")


def register(tool: FunctionTool[..., Any]) -> ToolCard:
    """Validates a tool and returns its card. Raises ConfigError with the tool and how to fix it."""
    if not isinstance(tool, FunctionTool):
        words = "An object of type {type} is not a tool: decorate a function with @tool."
        raise ConfigError(words, type=type(tool).__name__)
    role_of(tool)
    check_settings(tool)
    return card_of(
        tool.name,
        tool.descriptions,
        tool.parameters,
        category=tool.category,
        examples=tool.examples,
        priority=tool.priority,
        proven=True,
    )


def card_of(
    name: str,
    descriptions: object,
    parameters: Mapping[Size, Mapping[str, Any]],
    *,
    category: object = "",
    examples: object = (),
    priority: object = 0.0,
    proven: bool = False,
) -> ToolCard:
    """Builds a card from its parts; `parameters` are JSON Schemas by size. `proven` skips the check that they are
    valid. Raises ConfigError."""
    legal_name(name, Reason("a tool"))
    given = _descriptions(name, descriptions)
    _check_sizes(name, Reason("parameters"), parameters)
    written = {size: _written(name, size, schema, proven) for size, schema in parameters.items()}
    texts = {size: ToolText(_nearest_size(size, given).strip(), _nearest_size(size, written)) for size in SIZES}
    _compare(name, texts)
    if not isinstance(category, str):
        words = 'The tool {tool} has a category that is not a string: give category="…", or leave it out.'
        raise ConfigError(words, tool=name)
    _check_encodable(name, Reason("a category"), category)
    return ToolCard(name, texts, category, _examples(name, examples), _priority(name, priority))


def native_tool(tool: FunctionTool[..., Any] | ToolCard, size: Size = "XL") -> dict[str, Any]:
    """The function definition in the format of OpenAI and Ollama for a model of this size. Raises ConfigError."""
    return native((tool if isinstance(tool, ToolCard) else register(tool)).spec(size))


def native(spec: ToolSpec) -> dict[str, Any]:
    """The function definition for a spec of one size class."""
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


def legal_name(name: object, whose: Reason) -> None:
    """Raises ConfigError for a name that a provider would reject. `whose` names it in the message."""
    legal = Reason(LEGAL, limit=MAX_NAME_CHARACTERS)
    if not isinstance(name, str) or not name.strip():
        raise ConfigError("The name of {whose} is missing: give it {legal}.", whose=whose, legal=legal)
    if not _LEGAL.fullmatch(name):
        mended = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[: MAX_NAME_CHARACTERS - 1]
        would = mended if mended[:1].isalpha() else f"_{mended}"
        hint = Reason("; {name} would do", name=would) if mended else ""
        words = "The name of {whose}, {name!r}, is not legal: it takes {legal}{hint}."
        raise ConfigError(words, whose=whose, name=name[: MAX_NAME_CHARACTERS + 8], legal=legal, hint=hint)


def _check_sizes(tool: str, what: Reason, given: Mapping[Any, object]) -> None:
    """Raises ConfigError for a key that is not a size class."""
    unknown = next((key for key in given if key not in SIZES), None)
    if unknown is not None:
        words = "The {what} of the tool {tool} are for {size!r}: the sizes are {sizes}."
        raise ConfigError(words, what=what, tool=tool, size=unknown, sizes=", ".join(SIZES))


def _descriptions(tool: str, descriptions: object) -> dict[Size, str]:
    given = dict.fromkeys(SIZES, descriptions) if isinstance(descriptions, str) else descriptions
    if not isinstance(given, Mapping) or not given:
        words = "The tool {tool} has no descriptions for any of {sizes}: give at least one, as {form}."
        raise ConfigError(words, tool=tool, sizes=", ".join(SIZES), form='{"S": "…", "XL": "…"}')
    _check_sizes(tool, Reason("descriptions"), given)
    for size, text in given.items():
        if not isinstance(text, str) or not text.strip():
            words = "The tool {tool} has an empty description for {size}: say in a sentence what it does, and when."
            raise ConfigError(words, tool=tool, size=size)
        _check_encodable(tool, Reason("a description for {size}", size=size), text)
    return dict(given)


def _written(tool: str, size: Size, schema: Mapping[str, Any], proven: bool) -> dict[str, Any]:
    try:
        written = plain(schema, proven)
    except IllegalSchema as error:
        words = "The schema of the tool {tool} for {size} {reason}."
        raise ConfigError(words, tool=tool, size=size, reason=error.reason) from None
    _check_encodable(tool, Reason("a schema for {size}", size=size), json.dumps(written, ensure_ascii=False))
    unknown = [name for name in required(written) if name not in names(written)]
    if unknown:
        raise ConfigError(
            "The tool {tool} requires {names} for {size} without saying what that is: "
            "add it to the properties there, or leave it out of required.",
            tool=tool,
            names=", ".join(unknown),
            size=size,
        )
    return written


def _examples(tool: str, given: object) -> tuple[str, ...]:
    listed = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else None
    examples = tuple(each for each in listed or () if isinstance(each, str) and each.strip())
    if listed is None or len(examples) < len(listed):
        raise ConfigError(
            'The tool {tool} has examples that are not a list of non-blank strings: give examples=["…", "…"], '
            "or leave them out.",
            tool=tool,
        )
    for each in examples:
        _check_encodable(tool, Reason("an example"), each)
    return examples


def _priority(tool: str, given: Any) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        words = "The tool {tool} has a priority that is not a finite number: 0 is the usual one."
        raise ConfigError(words, tool=tool)
    return number


def _check_encodable(tool: str, what: Reason, text: str) -> None:
    """Raises ConfigError for a text that can't be encoded as UTF-8, since no provider accepts it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            "The tool {tool} has {what} with half a character (a lone surrogate): write the whole one.",
            tool=tool,
            what=what,
        ) from None


def _nearest_size(size: Size, given: Mapping[Size, T]) -> T:
    """The value for the size class, else for the next larger one, else for the next smaller one."""
    place = SIZES.index(size)
    return next(given[each] for each in (*SIZES[place:], *reversed(SIZES[:place])) if each in given)


def _compare(tool: str, texts: Mapping[Size, ToolText]) -> None:
    """Raises ConfigError for a size whose parameters do not fit those of XL."""
    largest = texts[SIZES[-1]].parameters
    for size in SIZES[:-1]:
        shown = texts[size].parameters
        if lacking := ", ".join(name for name in names(shown) if name not in names(largest)):
            words = "The tool {tool} has {names} for {size}, which XL lacks: leave it out for {size}, or give it to XL."
            raise ConfigError(words, tool=tool, names=lacking, size=size)
        if hidden := ", ".join(name for name in required(largest) if name not in names(shown)):
            words = "The tool {tool} requires {names} and hides it for {size}: show it there, or give it a default."
            raise ConfigError(words, tool=tool, names=hidden, size=size)
        if stricter := ", ".join(name for name in required(shown) if name not in required(largest)):
            words = (
                "The tool {tool} requires {names} for {size}, which XL leaves free: "
                "require it for XL, too, or leave it free for {size}."
            )
            raise ConfigError(words, tool=tool, names=stricter, size=size)
