"""Sources of toolkits and of the functions that implement their tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from handlers.tools.authoring.tool import Tool
from routing.errors import Reason
from routing.types.toolkits import ToolCard, Toolkit


class BoundToolkit:
    """A toolkit and its functions by tool name. Manifest entries without a function are dropped; functions without a
    manifest entry are reported in `left_out`."""

    def __init__(self, toolkit: Toolkit, tools: Iterable[Tool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        described = {card.name for card in toolkit.tools}
        words = "The tool {tool} of {toolkit} is left out: the toolkit's manifest does not describe it."
        self.left_out = tuple(
            Reason(words, tool=name, toolkit=toolkit.name) for name in self.tools if name not in described
        )
        cards = tuple(self._described(card) for card in toolkit.tools if card.name in self.tools)
        self.toolkit = replace(toolkit, tools=cards)

    def _described(self, card: ToolCard) -> ToolCard:
        describe = self.tools[card.name].describe
        return describe(card) if describe else card


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool with its toolkit."""

    tool: Tool
    card: ToolCard
    toolkit: Toolkit

    @property
    def foreign(self) -> bool:
        """Whether its schema comes from outside the project."""
        return self.toolkit.source == "mcp"

    @property
    def version(self) -> str:
        """A hash of the tool's source and of its descriptions for all sizes. It changes if a server changes a tool and
        keeps the name."""
        texts = [[size, text.description, text.parameters] for size, text in self.card.texts.items()]
        parts = [self.toolkit.source, self.toolkit.name, self.card.name, texts]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Source(Protocol):
    """A source of toolkits."""

    def bound_toolkits(self) -> tuple[BoundToolkit, ...]:
        """The current toolkits. Returns the same tuple until one of them changes."""


class BuiltinSource:
    """The built-in toolkits, which never change."""

    def __init__(self, kits: Iterable[BoundToolkit]) -> None:
        self._bound = tuple(kits)

    def bound_toolkits(self) -> tuple[BoundToolkit, ...]:
        return self._bound
