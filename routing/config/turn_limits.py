"""Limits of a turn and its prompt, from `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from routing.config.jsonfile import JsonObject

MAX_RESULT_CHARS = 100_000
"""Maximum length of a tool result for the model, in characters."""


@dataclass(frozen=True, slots=True)
class TurnBounds:
    """One turn: calls of models, calls of tools, seconds, US dollars (None: no limit)."""

    model_calls: int = 20
    tool_calls: int = 40
    seconds: float = 600.0
    dollars: Decimal | None = Decimal(2)


@dataclass(frozen=True, slots=True)
class Compaction:
    """When older messages are summarised: above `most_tokens` (or 0.8 of the model's window), except the last
    `keep_last` messages."""

    enabled: bool = True
    most_tokens: int = 50_000
    keep_last: int = 20


def read_turn(section: JsonObject) -> TurnBounds:
    """Read `turn`: maxModelCalls, maxToolCalls, deadlineSeconds, maxUsd. Raises ConfigError."""
    usual = TurnBounds()
    return TurnBounds(
        model_calls=section.whole("maxModelCalls", usual.model_calls),
        tool_calls=section.whole("maxToolCalls", usual.tool_calls),
        seconds=float(section.whole("deadlineSeconds", int(usual.seconds))),
        dollars=_dollars(section, usual.dollars),
    )


def read_compaction(section: JsonObject) -> Compaction:
    """Read `compaction`: enabled, maxContextTokens, keepLastMessages. Raises ConfigError."""
    usual = Compaction()
    return Compaction(
        enabled=section.flag("enabled", usual.enabled),
        most_tokens=section.tokens("maxContextTokens", usual.most_tokens),
        keep_last=section.whole("keepLastMessages", usual.keep_last),
    )


def _dollars(section: JsonObject, usual: Decimal | None) -> Decimal | None:
    value = section.values.get("maxUsd", usual)
    if value is None or isinstance(value, Decimal):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return Decimal(str(value))
    raise section.file.fault((*section.path, "maxUsd"), "must be a number above 0, or null for no limit")
