"""From a server's list to its toolkit, with distrust: one bad tool harms no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handlers.tools.mcp.hints import Hinted, read_hints, with_hints
from handlers.tools.mcp.limits import Limits
from handlers.tools.mcp.naming import tool_names
from handlers.tools.mcp.offers import ListedTool, Listing, Offer, readable, shown
from handlers.tools.mcp.schemas import schema_fault
from handlers.tools.mcp.servers import Server
from routing.toolkits import ToolCard, Toolkit, ToolText

NAMESPACE = "mcp:"
"""What a server's toolkit is called begins with it: no name of ours or of the workspace has a colon."""
_LONGEST_ABOUT = 500


def read_listing(server: Server, prefix: str, listing: Listing, taken: Collection[str], limits: Limits) -> Offer:
    """Takes about a millisecond a tool, so not for the event loop."""
    warnings = [*listing.left_out]
    found: list[tuple[ListedTool, Hinted, ToolText]] = []
    for tool in listing.tools:
        fault = schema_fault(tool.schema, limits.schema_chars)
        if fault:
            warnings.append(f"{shown(tool.name)} is left out: {fault}")
            continue
        plain = ToolText(readable(tool.description, limits.description_chars) or tool.name, _plain(tool.schema))
        hinted = _checked(read_hints(tool.hints, plain), limits)
        warnings += [f"{shown(tool.name)}: {reason}; it is ignored" for reason in hinted.ignored]
        found.append((tool, hinted, plain))
    names = tool_names(prefix, [tool.name for tool, _, _ in found], taken)
    cards = tuple(with_hints(names[tool.name], plain, hinted) for tool, hinted, plain in found)
    toolkit = Toolkit(
        f"{NAMESPACE}{server.name}",
        readable(listing.about, _LONGEST_ABOUT) or server.name,
        category=_category(cards),
        tools=cards,
        source="mcp",
    )
    return Offer(toolkit, {names[tool.name]: tool for tool, _, _ in found}, tuple(warnings))


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Without what only validators read; providers want `properties`."""
    return {"type": "object", "properties": {}, **{key: each for key, each in schema.items() if key != "$schema"}}


def _checked(hinted: Hinted, limits: Limits) -> Hinted:
    """Without the texts whose schema is not valid, and presentable."""
    texts, wrong = {}, []
    for size, text in hinted.texts.items():
        fault = schema_fault(text.parameters, limits.schema_chars)
        if fault:
            wrong.append(f"its hint for size {size} is wrong, {fault}")
        else:
            texts[size] = ToolText(readable(text.description, limits.description_chars), _plain(text.parameters))
    return replace(hinted, texts=texts, ignored=(*hinted.ignored, *wrong))


def _category(cards: Sequence[ToolCard]) -> str:
    counted = Counter(card.category for card in cards if card.category)
    return counted.most_common(1)[0][0] if counted else ""
