"""Toolkits and their tools as they are known; what a model sees of them depends on its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from routing.calls import ToolSpec
from routing.sizes import Size

ToolkitSource = Literal["ours", "workspace", "mcp"]


@dataclass(frozen=True, slots=True)
class ToolText:
    """What one size class is told; `parameters` is a JSON Schema of type object."""

    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool with its texts for all four size classes, S the shortest. `examples` are what people say when they need
    it; of two that are equally relevant the one with the higher `priority` comes first."""

    name: str
    texts: Mapping[Size, ToolText]
    category: str = ""
    examples: tuple[str, ...] = ()
    priority: float = 0.0

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
