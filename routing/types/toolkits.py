"""Toolkits and tools; their texts depend on the size of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from routing.types.decisions import Size
from routing.types.llm import ToolSpec
from routing.types.tokens import UNITS, foreign

ToolkitSource = Literal["ours", "workspace", "mcp"]
QUARTERS = 4
"""Definitions are weighed in quarters of a token. A character of English JSON weighs one, about a sixth too much; other
scripts weigh the same as in messages."""
_DENSE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&*+;<=>?@\\^`|~"
_MORE = 4
"""Extra weight of these characters and of accented Latin letters: keys and hashes have hardly two characters per token,
and English has few of them."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """The text for one size class; `parameters` is a JSON Schema of type object."""

    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool with its texts for all four size classes, S the shortest. `examples` are requests that need it; `priority`
    breaks ties in relevance. The definitions and their `weights` are computed once, because thousands are compared per
    message."""

    name: str
    texts: Mapping[Size, ToolText]
    category: str = ""
    examples: tuple[str, ...] = ()
    priority: float = 0.0
    weights: Mapping[Size, int] = field(init=False, repr=False, compare=False)
    _specs: Mapping[Size, ToolSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        specs = {size: ToolSpec(self.name, text.description, text.parameters) for size, text in self.texts.items()}
        object.__setattr__(self, "_specs", specs)
        object.__setattr__(self, "weights", {size: weight(spec) for size, spec in specs.items()})

    def spec(self, size: Size) -> ToolSpec:
        """The definition for a model of this size class."""
        return self._specs[size]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools that are shown together when they are relevant; a `base` toolkit is always a candidate. `keywords` may be
    in any language."""

    name: str
    description: str
    category: str = ""
    keywords: tuple[str, ...] = ()
    tools: tuple[ToolCard, ...] = ()
    base: bool = False
    source: ToolkitSource = field(default="ours")


def weight(spec: ToolSpec) -> int:
    """The weight of a definition in OpenAI's format, in quarters of a token."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return text_weight(
        json.dumps({"type": "function", "function": function}, ensure_ascii=False, separators=(",", ":"))
    )


def text_weight(text: str) -> int:
    """The weight of a text in a definition, in quarters of a token; too high rather than too low."""
    signs, weighed = foreign(text)
    plain = text.encode("ascii", "ignore")
    dense = len(text) - signs - len(plain.translate(None, _DENSE))
    return len(text) - signs + _MORE * dense - (-QUARTERS * weighed // UNITS)
