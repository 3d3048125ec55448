"""Capability hints: a tool's texts for models of different sizes, from its server."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from routing.errors import Reason
from routing.types.decisions import SIZES, Size
from routing.types.toolkits import ToolCard, ToolText

HINTS = "io.github.tierbot/capabilityHints"
"""Their key in a tool's `_meta`."""
RAW = "capabilityHints"
"""Their key at a tool's top level, where some servers write them."""

TIERS: Mapping[str, tuple[Size, ...]] = {"small": ("S",), "medium": ("M",), "large": ("L", "XL")}
Schema = Mapping[str, Any]
_MAX_PRIORITY = 1_000.0
_LABEL_CHARACTERS = 32
NO_LABEL = Reason(
    "its category is not a label of up to {limit} letters, digits, spaces and - _ /", limit=_LABEL_CHARACTERS
)


@dataclass(frozen=True, slots=True)
class Hinted:
    """A tool's texts for some sizes; `ignored` are sentences about invalid hints."""

    texts: Mapping[Size, ToolText]
    category: str = ""
    priority: float = 0.0
    ignored: tuple[Reason, ...] = ()


def as_it_is(schema: Schema) -> tuple[Schema, Reason | None]:
    """Accepts a schema without a check."""
    return schema, None


def read_hints(
    hints: object, plain: ToolText, checked: Callable[[Schema], tuple[Schema, Reason | None]] = as_it_is
) -> Hinted:
    """Read untrusted hints. `plain` is the tool's own text, for missing parts. `checked` returns a schema as models get
    it, and why it can't be used."""
    if hints is None:
        return Hinted({})
    if not isinstance(hints, Mapping):
        return Hinted({}, ignored=(Reason("its hints are not an object"),))
    texts: dict[Size, ToolText] = {}
    ignored: list[Reason] = []
    tiers = hints.get("tiers")
    for tier, hint in tiers.items() if isinstance(tiers, Mapping) else ():
        fault, schema = _tier_fault(tier, hint, plain), plain.parameters
        if not fault and hint.get("inputSchema"):
            schema, wrong = checked(hint["inputSchema"])
            fault = Reason("is wrong, {reason}", reason=wrong) if wrong else None
        if fault:
            ignored.append(Reason("its hint for {tier} {reason}", tier=str(tier), reason=fault))
            continue
        text = ToolText(hint.get("description") or plain.description, schema)
        texts.update(dict.fromkeys(TIERS[tier], text))
    category = hints.get("category")
    category = category.strip() if isinstance(category, str) else ""
    if not is_label(category):
        category = ""
        ignored.append(NO_LABEL)
    return Hinted(texts, category, _priority(hints.get("priority")), tuple(ignored))


def is_label(category: str) -> bool:
    """Whether it can be shown in the system message, which must contain no untrusted sentence."""
    return len(category) <= _LABEL_CHARACTERS and all(
        char.isalnum() or char in " -_/" or unicodedata.category(char).startswith("M") for char in category
    )


def write_hints(card: ToolCard) -> dict[str, Any]:
    """The hints of one of our tools, for clients that use them; others see the text for XL."""
    tiers = {
        tier: {"description": card.texts[sizes[0]].description, "inputSchema": dict(card.texts[sizes[0]].parameters)}
        for tier, sizes in TIERS.items()
    }
    return {"tiers": tiers, "category": card.category, "priority": card.priority}


def with_hints(name: str, plain: ToolText, hinted: Hinted) -> ToolCard:
    """The card of a tool, with the plain text for sizes without a hint."""
    texts = {size: hinted.texts.get(size, plain) for size in SIZES}
    return ToolCard(name, texts, category=hinted.category, priority=hinted.priority)


def _tier_fault(tier: object, hint: object, plain: ToolText) -> Reason | None:
    if tier not in TIERS:
        return Reason("is for none of {tiers}", tiers=", ".join(TIERS))
    if not isinstance(hint, Mapping):
        return Reason("is not an object")
    description, schema = hint.get("description"), hint.get("inputSchema")
    if not isinstance(description, str | None) or not isinstance(schema, Mapping | None):
        return Reason("has a description that is not a string, or a schema that is not an object")
    schema = schema or plain.parameters
    needed, shown = _names(plain.parameters.get("required")), _names(schema.get("properties"))
    if hidden := needed - shown:
        return Reason("hides what is required: {names}", names=", ".join(sorted(hidden)))
    if unknown := shown - _names(plain.parameters.get("properties")):
        return Reason("has what the tool does not take: {names}", names=", ".join(sorted(unknown)))
    free = _names(schema.get("required")) - needed
    return Reason("requires what the tool leaves free: {names}", names=", ".join(sorted(free))) if free else None


def _names(value: object) -> set[str]:
    return {each for each in value if isinstance(each, str)} if isinstance(value, list | Mapping) else set()


def _priority(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    try:
        number = float(value)
    except OverflowError:  # an integer in JSON can have any length
        return 0.0
    return max(-_MAX_PRIORITY, min(_MAX_PRIORITY, number)) if math.isfinite(number) else 0.0
