"""Toolkits with the functions behind their tools, wherever they come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from handlers.tools.authoring.tool import Tool
from routing.types.toolkits import ToolCard, Toolkit


class Shelf:
    """A toolkit and the functions behind its tools; a tool without one is not on it."""

    def __init__(self, toolkit: Toolkit, tools: Iterable[Tool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        cards = tuple(self._described(card) for card in toolkit.tools if card.name in self.tools)
        self.toolkit = replace(toolkit, tools=cards)

    def _described(self, card: ToolCard) -> ToolCard:
        describe = self.tools[card.name].describe
        return describe(card) if describe else card


class Source(Protocol):
    """Where toolkits come from."""

    def shelves(self) -> tuple[Shelf, ...]:
        """Those of the moment; the same tuple until one of them is another."""


class OurShelves:
    """What the program brings along; it never changes."""

    def __init__(self, shelves: Iterable[Shelf]) -> None:
        self._shelves = tuple(shelves)

    def shelves(self) -> tuple[Shelf, ...]:
        return self._shelves
