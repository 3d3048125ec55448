"""Sources of toolkits and of the functions that implement their tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from handlers.tools.authoring.tool import Tool
from routing.types.toolkits import ToolCard, Toolkit


class Shelf:
    """A toolkit and its functions by tool name. Tools without a function are dropped."""

    def __init__(self, toolkit: Toolkit, tools: Iterable[Tool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        cards = tuple(self._described(card) for card in toolkit.tools if card.name in self.tools)
        self.toolkit = replace(toolkit, tools=cards)

    def _described(self, card: ToolCard) -> ToolCard:
        describe = self.tools[card.name].describe
        return describe(card) if describe else card


class Source(Protocol):
    """A source of toolkits."""

    def shelves(self) -> tuple[Shelf, ...]:
        """The current toolkits. Returns the same tuple until one changes."""


class BuiltinSource:
    """The built-in toolkits, which never change."""

    def __init__(self, shelves: Iterable[Shelf]) -> None:
        self._shelves = tuple(shelves)

    def shelves(self) -> tuple[Shelf, ...]:
        return self._shelves
