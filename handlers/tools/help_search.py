"""Finds the commands and tools that a help request is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handlers.context import CommandSpec
from handlers.tools.mcp.naming import NAMESPACE
from routing.text import nearest
from routing.tools.selector import by_keyword
from routing.types.toolkits import Toolkit

_WORDS = re.compile(rf"(?:\b{NAMESPACE})?[\w-]+")
_MIN_WORD_LENGTH = 4
"""Minimum length of a word to search in command summaries; shorter words match too often."""


def find_commands(specs: Sequence[CommandSpec], topic: str) -> list[CommandSpec]:
    """Commands named in the topic, else those whose summary contains one of its words, else the nearest spelling."""
    words = _WORDS.findall(topic.casefold())
    if called := [spec for spec in specs if spec.name in words]:
        return called
    telling = {word for word in words if len(word) >= _MIN_WORD_LENGTH}
    if found := [spec for spec in specs if telling & {*_WORDS.findall(spec.summary.casefold())}]:
        return found
    if len(words) != 1:
        return []
    near = nearest(words[0], [spec.name for spec in specs])
    return [spec for spec in specs if spec.name == near]


def find_toolkits(toolkits: Sequence[Toolkit], topic: str) -> list[Toolkit]:
    """Toolkits whose name, tool or keyword appears in the topic. An MCP toolkit matches only by its full name:
    `mcp:files` does not match `files`."""
    text = topic.casefold()
    full_names = []
    for each in sorted(toolkits, key=lambda each: -len(each.name)):
        if each.name.startswith(NAMESPACE) and each.name.casefold() in text:
            full_names.append(each.name)
            text = text.replace(each.name.casefold(), " ")
    words = {*_WORDS.findall(text)}
    by_words = {each.toolkit for each in by_keyword(toolkits, re.sub(rf"\b{NAMESPACE}\S*", " ", text))}
    return [
        each
        for each in toolkits
        if each.name in by_words or each.name in full_names or words & {each.name, *(card.name for card in each.tools)}
    ]


def describe_command(spec: CommandSpec) -> str:
    """A command with all its forms."""
    return f"/{spec.name}: {spec.summary}. Written as: {' | '.join(spec.usage)}"


def describe_toolkit(toolkit: Toolkit) -> str:
    """A toolkit with the purpose of each tool."""
    tools = "".join(f"\n- {card.name}: {card.texts['M'].description}" for card in toolkit.tools)
    return f"Toolkit {toolkit.name}: {toolkit.description}{tools}"


def names(toolkit: Toolkit) -> str:
    """The names of its tools."""
    return ", ".join(card.name for card in toolkit.tools)
