"""Toolkits and their tools as they are known; what a model sees of them depends on its size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from routing.types.llm import ToolSpec
from routing.types.sizes import Size
from routing.types.tokens import UNITS, foreign

ToolkitSource = Literal["ours", "workspace", "mcp"]
QUARTERS = 4
"""Weights of definitions are whole quarters of a token: a character of JSON in English is one, which is about a
sixth too much; other scripts weigh as in a conversation."""
_DENSE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&*+;<=>?@\\^`|~"
_MORE = 4
"""What each of these, and each Latin letter with a sign of its own, weighs beyond its quarter: in keys and hashes they
are hardly two characters a token, and English has few of them."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """What one size class is told; `parameters` is a JSON Schema of type object."""

    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool with its texts for all four size classes, S the shortest. `examples` are what people say when they need
    it; of two that are equally relevant the one with the higher `priority` comes first. `weights` are those of its
    definitions, reckoned once: thousands are compared for every message."""

    name: str
    texts: Mapping[Size, ToolText]
    category: str = ""
    examples: tuple[str, ...] = ()
    priority: float = 0.0
    weights: Mapping[Size, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", {size: weight(self.spec(size)) for size in self.texts})

    def spec(self, size: Size) -> ToolSpec:
        """As a model of this class sees it."""
        text = self.texts[size]
        return ToolSpec(self.name, text.description, text.parameters)


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools that belong together and are shown together when they are relevant; a `base` toolkit always is a
    candidate. `keywords` may be in any language."""

    name: str
    description: str
    category: str = ""
    keywords: tuple[str, ...] = ()
    tools: tuple[ToolCard, ...] = ()
    base: bool = False
    source: ToolkitSource = field(default="ours")


def weight(spec: ToolSpec) -> int:
    """A definition in OpenAI's form, in quarters of a token."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return text_weight(
        json.dumps({"type": "function", "function": function}, ensure_ascii=False, separators=(",", ":"))
    )


def text_weight(text: str) -> int:
    """A text between definitions, in quarters of a token: rather too much than too little in any script."""
    signs, weighed = foreign(text)
    plain = text.encode("ascii", "ignore")
    dense = len(text) - signs - len(plain.translate(None, _DENSE))
    return len(text) - signs + _MORE * dense - (-QUARTERS * weighed // UNITS)
