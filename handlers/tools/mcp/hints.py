"""Capability hints: what a tool's server tells models of each size, in both directions."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from routing.types.sizes import SIZES, Size
from routing.types.toolkits import ToolCard, ToolText

HINTS = "io.github.tierbot/capabilityHints"
"""Where they are in a tool's `_meta`."""
RAW = "capabilityHints"
"""Where they are at a tool's top level, if a server writes them there."""

_TIERS: Mapping[str, tuple[Size, ...]] = {"small": ("S",), "medium": ("M",), "large": ("L", "XL")}
_HIGHEST = 1_000.0
_LONGEST_LABEL = 32
NO_LABEL = f"its category is no label of up to {_LONGEST_LABEL} letters, digits, spaces and - _ /"


@dataclass(frozen=True, slots=True)
class Hinted:
    """A tool's texts as far as its server gave them; `ignored` says which hints are wrong, and why."""

    texts: Mapping[Size, ToolText]
    category: str = ""
    priority: float = 0.0
    ignored: tuple[str, ...] = ()


def read_hints(hints: object, plain: ToolText) -> Hinted:
    """What stands in the hints; `plain` is the tool's own text, for what they leave out. Whether a schema is a valid
    one is not looked at."""
    if hints is None:
        return Hinted({})
    if not isinstance(hints, Mapping):
        return Hinted({}, ignored=("its hints are not an object",))
    texts: dict[Size, ToolText] = {}
    ignored = []
    tiers = hints.get("tiers")
    for tier, hint in tiers.items() if isinstance(tiers, Mapping) else ():
        fault = _fault(tier, hint, plain)
        if fault:
            ignored.append(f"its hint for {tier} {fault}")
            continue
        text = ToolText(hint.get("description") or plain.description, hint.get("inputSchema") or plain.parameters)
        texts.update(dict.fromkeys(_TIERS[tier], text))
    given = hints.get("category")
    category = given.strip() if isinstance(given, str) else ""
    if not is_label(category):
        category = ""
        ignored.append(NO_LABEL)
    return Hinted(texts, category, _number(hints.get("priority")), tuple(ignored))


def is_label(category: str) -> bool:
    """Whether it can stand among others in the system message, where somebody else's sentences have no place."""
    return len(category) <= _LONGEST_LABEL and all(
        sign.isalnum() or sign in " -_/" or unicodedata.category(sign).startswith("M") for sign in category
    )


def write_hints(card: ToolCard) -> dict[str, Any]:
    """The hints of a tool of ours. Its text for XL is what every other client sees."""
    tiers = {
        tier: {"description": card.texts[sizes[0]].description, "inputSchema": dict(card.texts[sizes[0]].parameters)}
        for tier, sizes in _TIERS.items()
    }
    return {"tiers": tiers, "category": card.category, "priority": card.priority}


def with_hints(name: str, plain: ToolText, hinted: Hinted) -> ToolCard:
    """The card of a tool: where a size has no text of its own, the plain one."""
    texts = {size: hinted.texts.get(size, plain) for size in SIZES}
    return ToolCard(name, texts, category=hinted.category, priority=hinted.priority)


def _fault(tier: object, hint: object, plain: ToolText) -> str:
    if tier not in _TIERS:
        return f"is for none of {', '.join(_TIERS)}"
    if not isinstance(hint, Mapping):
        return "is not an object"
    description, schema = hint.get("description"), hint.get("inputSchema")
    if not isinstance(description, str | None) or not isinstance(schema, Mapping | None):
        return "has a description that is no text, or a schema that is no object"
    needed = set(_names(plain.parameters.get("required")))
    shown, known = (set(_names(each.get("properties"))) for each in (schema or plain.parameters, plain.parameters))
    if needed - shown:
        return f"hides what is required: {', '.join(sorted(needed - shown))}"
    if shown - known:
        return f"has what the tool does not take: {', '.join(sorted(shown - known))}"
    free = set(_names((schema or plain.parameters).get("required"))) - needed
    return f"requires what the tool leaves free: {', '.join(sorted(free))}" if free else ""


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | Mapping) else []


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    try:
        number = float(value)
    except OverflowError:  # JSON has integers of any length
        return 0.0
    return max(-_HIGHEST, min(_HIGHEST, number)) if math.isfinite(number) else 0.0
