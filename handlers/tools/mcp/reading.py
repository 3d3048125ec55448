"""From a server's list to its toolkit, with distrust: one bad tool harms no other."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from handlers.tools.mcp.hints import Hinted, read_hints, with_hints
from handlers.tools.mcp.limits import Limits
from handlers.tools.mcp.naming import NAMESPACE, tool_names
from handlers.tools.mcp.offers import ListedTool, Listing, Offer
from handlers.tools.mcp.schemas import schema_fault
from handlers.tools.mcp.servers import Server
from handlers.tools.mcp.texts import readable, said, shown
from routing.types.toolkits import ToolCard, Toolkit, ToolText

_LONGEST_ABOUT = 500
_WORDS = ("description", "title", "$comment")
_VALUES = ("default", "examples")


def read_listing(server: Server, prefix: str, listing: Listing, taken: Collection[str], limits: Limits) -> Offer:
    """Takes about a millisecond a tool, so not for the event loop."""
    warnings, began = [*listing.left_out], monotonic()
    found: list[_Read] = []
    for number, tool in enumerate(listing.tools):
        if monotonic() - began > limits.reading_seconds:
            late = len(listing.tools) - number
            warnings.append(
                f"{late:,} of its tools are left out: reading took longer than {limits.reading_seconds:g} s"
            )
            break
        read, words = _read(_without_secrets(tool, server.hidden), limits)
        warnings += words
        found += [read] if read else []
    names = tool_names(prefix, [each.tool.name for each in found], taken)
    for each in (each.tool.name for each in found if each.tool.name not in names):
        warnings.append(f"{shown(each)} is left out: its name and what it could be called here are other tools'")
    found = [each for each in found if each.tool.name in names]
    cards = tuple(with_hints(names[each.tool.name], each.plain, each.hinted) for each in found)
    toolkit = Toolkit(
        f"{NAMESPACE}{server.name}",
        readable(server.hidden(listing.about), _LONGEST_ABOUT) or server.name,
        category=_category(cards),
        tools=cards,
        source="mcp",
    )
    tools = {names[each.tool.name]: each.tool for each in found}
    warnings = [server.hidden(each) for each in warnings]
    return Offer(toolkit, tools, tuple(warnings), _digest(toolkit, tools, warnings))


@dataclass(frozen=True, slots=True)
class _Read:
    """A tool that can be offered."""

    tool: ListedTool
    hinted: Hinted
    plain: ToolText


def _without_secrets(tool: ListedTool, hidden: Callable[[str], str]) -> ListedTool:
    """The model, /tools and the index of tools get what a server says of its tools: some name their address there,
    with the password."""
    schema, hints = _cleaned(tool.schema, hidden), _cleaned(tool.hints, hidden)
    return replace(tool, description=hidden(tool.description), schema=schema, hints=hints)


def _cleaned(value: Any, hidden: Callable[[str], str]) -> Any:
    """A schema or hints with the secrets hidden in its words and without values that hold one. Keywords such as
    `type` stay: their values may also stand in the environment."""
    if isinstance(value, list):
        return [_cleaned(each, hidden) for each in value]
    if not isinstance(value, Mapping):
        return value
    found = {}
    for key, each in value.items():
        if key in _WORDS and isinstance(each, str):
            found[key] = hidden(each)
        elif key not in _VALUES or isinstance(each, Mapping) or hidden(str(each)) == str(each):
            found[key] = _cleaned(each, hidden)
    return found


def _read(tool: ListedTool, limits: Limits) -> tuple[_Read | None, list[str]]:
    """With what is to be said of it."""
    schema = said(tool.schema)
    fault = schema_fault(schema, limits.schema_chars)
    if fault:
        return None, [f"{shown(tool.name)} is left out: {fault}"]
    plain = ToolText(readable(tool.description, limits.description_chars) or shown(tool.name), _plain(schema))
    hinted = _checked(read_hints(tool.hints, plain), limits)
    ignored = [f"{shown(tool.name)}: {reason}; it is ignored" for reason in hinted.ignored]
    return _Read(replace(tool, schema=plain.parameters, hints=None), hinted, plain), ignored


def _digest(toolkit: Toolkit, tools: Mapping[str, ListedTool], warnings: Sequence[str]) -> bytes:
    """Schema by schema: all other threads wait while one is written."""
    found = hashlib.sha256(json.dumps([toolkit.name, toolkit.description, *warnings]).encode())
    for card in toolkit.tools:
        tool, last = tools[card.name], None
        facts = [card.name, card.category, card.priority, tool.name, tool.read_only]
        found.update(json.dumps(facts).encode())
        for text in card.texts.values():
            if text is not last:
                found.update(json.dumps([text.description, text.parameters]).encode())
            found.update(b"\n")
            last = text
    return found.digest()


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Without what only validators read; providers want `properties`."""
    return {"type": "object", "properties": {}, **{key: each for key, each in schema.items() if key != "$schema"}}


def _checked(hinted: Hinted, limits: Limits) -> Hinted:
    """Without the texts whose schema is not valid, and presentable."""
    texts, wrong = {}, []
    for size, text in hinted.texts.items():
        schema = said(text.parameters)
        fault = schema_fault(schema, limits.schema_chars)
        if fault:
            wrong.append(f"its hint for size {size} is wrong, {fault}")
        else:
            texts[size] = ToolText(readable(text.description, limits.description_chars), _plain(schema))
    return replace(hinted, texts=texts, ignored=(*hinted.ignored, *wrong))


def _category(cards: Sequence[ToolCard]) -> str:
    counted = Counter(card.category for card in cards if card.category)
    return counted.most_common(1)[0][0] if counted else ""
