"""The eighty tools and fifty prompts of yantrikos/tier (MIT), as our own tools with texts for each size class."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routing.types.decisions import SIZES, Size
from routing.types.toolkits import ToolCard, ToolText

FIRST_PARAMETERS: Mapping[Size, int | None] = {"S": 2, "M": 3, "L": None, "XL": None}
"""Maximum number of parameters shown to a class; None is all. The study has one list for all models."""
_TEXT: Mapping[Size, str] = {"S": "short", "M": "full", "L": "full", "XL": "full"}
"""The study has two descriptions of each tool."""


class Unreadable(Exception):
    """A file of the study is missing or malformed; names it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request, the tool that serves it, and that tool's family."""

    text: str
    tool: str
    family: str


@dataclass(frozen=True, slots=True)
class Study:
    """A tool's `category` is its family."""

    cards: tuple[ToolCard, ...]
    prompts: tuple[Prompt, ...]

    def families(self) -> Mapping[str, str]:
        """The family of each tool, by name."""
        return {card.name: card.category for card in self.cards}

    def toolkits(self) -> list[dict[str, Any]]:
        """The tools as a catalogue of families."""
        families = dict.fromkeys(self.families().values())
        return [{"name": family, "category": family, "tools": self._tools(family)} for family in families]

    def tools(self) -> list[dict[str, Any]]:
        """The tools as a catalogue of single ones."""
        return [tool for family in dict.fromkeys(self.families().values()) for tool in self._tools(family)]

    def _tools(self, family: str) -> list[dict[str, Any]]:
        specs = [card.spec("XL") for card in self.cards if card.category == family]
        return [
            {"name": spec.name, "description": spec.description, "category": family, "parameters": spec.parameters}
            for spec in specs
        ]


def read(folder: Path) -> Study:
    """`tools.json` and `prompts.json`. Raises Unreadable."""
    cards = tuple(_each(folder / "tools.json", "tools", _card))
    prompts = tuple(_each(folder / "prompts.json", "prompts", _prompt))
    strangers = {prompt.tool for prompt in prompts} - {card.name for card in cards}
    if strangers:
        raise Unreadable(f"{folder / 'prompts.json'} expects tools that are none: {', '.join(sorted(strangers))}.")
    return Study(cards, prompts)


def _each(path: Path, key: str, made: Any) -> Sequence[Any]:
    try:
        rows = json.loads(path.read_bytes())[key]
        found = [made(row) for row in rows]
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{path} is not of the study's form ({type(error).__name__}: {error}).") from error
    if not found:
        raise Unreadable(f"{path} holds no {key}.")
    return found


def _card(row: Mapping[str, Any]) -> ToolCard:
    texts = {size: ToolText(row[_TEXT[size]], _schema(row["parameters"], FIRST_PARAMETERS[size])) for size in SIZES}
    return ToolCard(row["name"], texts, row["category"])


def _schema(parameters: Mapping[str, str], most: int | None) -> Mapping[str, Any]:
    """The study does not say what an array holds; without any `items` a provider refuses the schema."""
    shown = list(parameters.items())[:most]
    return {"type": "object", "properties": {name: _type(kind) for name, kind in shown}}


def _type(kind: str) -> Mapping[str, Any]:
    return {"type": kind, "items": {}} if kind == "array" else {"type": kind}


def _prompt(row: Mapping[str, Any]) -> Prompt:
    return Prompt(row["prompt"], row["expected_tool"], row["expected_family"])
