"""What a person means who asks for help with something, in any words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handlers.context import CommandSpec
from handlers.tools.mcp.naming import NAMESPACE
from routing.text import nearest
from routing.tools.chooser import by_keyword
from routing.types.toolkits import Toolkit

_WORDS = re.compile(rf"(?:\b{NAMESPACE})?[\w-]+")
_TELLING = 4
"""Letters of a word by which a command's summary is found; shorter ones are in all of them."""


def meant(specs: Sequence[CommandSpec], topic: str) -> list[CommandSpec]:
    """The commands that are named, else those whose summary has a word of the topic, else the mistyped one."""
    words = _WORDS.findall(topic.casefold())
    if called := [spec for spec in specs if spec.name in words]:
        return called
    telling = {word for word in words if len(word) >= _TELLING}
    if found := [spec for spec in specs if telling & {*_WORDS.findall(spec.summary.casefold())}]:
        return found
    if len(words) != 1:
        return []
    near = nearest(words[0], [spec.name for spec in specs])
    return [spec for spec in specs if spec.name == near]


def named(toolkits: Sequence[Toolkit], topic: str) -> list[Toolkit]:
    """The toolkits that a topic names: by name, by one of their tools, by a keyword. The name of a server's toolkit
    counts in full: `mcp:files` is no word for ours of the files."""
    said = topic.casefold()
    in_full = []
    for each in sorted(toolkits, key=lambda each: -len(each.name)):
        if each.name.startswith(NAMESPACE) and each.name.casefold() in said:
            in_full.append(each.name)
            said = said.replace(each.name.casefold(), " ")
    words = {*_WORDS.findall(said)}
    heard = {each.toolkit for each in by_keyword(toolkits, re.sub(rf"\b{NAMESPACE}\S*", " ", said))}
    return [
        each
        for each in toolkits
        if each.name in heard or each.name in in_full or words & {each.name, *(card.name for card in each.tools)}
    ]


def in_full(spec: CommandSpec) -> str:
    """A command with every way it is written."""
    return f"/{spec.name}: {spec.summary}. Written as: {' | '.join(spec.usage)}"


def with_tools(toolkit: Toolkit) -> str:
    """A toolkit with what each of its tools is for."""
    tools = "".join(f"\n- {card.name}: {card.texts['M'].description}" for card in toolkit.tools)
    return f"Toolkit {toolkit.name}: {toolkit.description}{tools}"


def names(toolkit: Toolkit) -> str:
    """Its tools."""
    return ", ".join(card.name for card in toolkit.tools)
