"""Model cards and their format in `models.json`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from routing.config.jsonfile import JsonObject
from routing.config.kinds import FLAG, TEMPERATURE, TEXT, TOKENS, Setting, one_of, optional
from routing.types.decisions import SIZES, Size

TINY_TOKENS = 2048
"""Models with a window of at most this size only follow the shortest instructions."""
_FOR_ALL = ("supportsTemperature", "supportsVision", "supportsTools", "maxInputTokens")
"""Keys that the object `defaults` may have."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning levels of a model, weakest first, each with its context window in tokens."""

    default: str
    levels: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known about a model; windows are in tokens. `known` is False if only the defaults apply. `temperature` is
    the best one for this model; None uses the configuration's. `size_class` is the owner's choice; None derives it from
    the name."""

    id: str
    provider: Annotated[str, Setting("provider", TEXT)]
    display_name: Annotated[str, Setting("displayName", TEXT)]
    supports_temperature: Annotated[bool, Setting("supportsTemperature", FLAG)]
    supports_vision: Annotated[bool, Setting("supportsVision", FLAG)]
    supports_tools: Annotated[bool, Setting("supportsTools", FLAG)]
    max_input_tokens: Annotated[int, Setting("maxInputTokens", TOKENS)]
    reasoning: Reasoning | None
    known: bool
    temperature: Annotated[float | None, Setting("temperature", optional(TEMPERATURE))] = None
    size_class: Annotated[Size | None, Setting("sizeClass", optional(one_of(SIZES)))] = None

    @property
    def tiny(self) -> bool:
        """Whether the model needs the shortest possible instructions."""
        return self.max_input_tokens <= TINY_TOKENS

    @property
    def name(self) -> str:
        """The full name, `provider/model`."""
        prefix = f"{self.provider}/" if self.provider else ""
        return self.id if self.id.startswith(prefix) else prefix + self.id

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the reasoning levels; empty for a model that does not reason."""
        return tuple(level for level, _ in self.reasoning.levels) if self.reasoning else ()

    def limit(self, level: str | None) -> int:
        """The window at a reasoning level; for an unknown level the largest one. Models without reasoning have just
        one."""
        if self.reasoning is None:
            return self.max_input_tokens
        windows = dict(self.reasoning.levels)
        return windows.get(level or "", max(windows.values()))


# Used where the file has no defaults.
_DEFAULTS = ModelCard("", "", "", True, True, True, 128_000, None, known=False)


def read_defaults(root: JsonObject) -> ModelCard:
    """The card for unknown names; missing keys take the values above."""
    entry = root.section("defaults")
    return replace(entry, values={key: entry.values[key] for key in _FOR_ALL if key in entry.values}).fill(_DEFAULTS)


def read_card(models: JsonObject, key: str, defaults: ModelCard) -> ModelCard:
    """Read an entry. The provider may be omitted if the id contains it. Raises ConfigError."""
    entry = models.child(key)
    if entry is None or not key.strip():
        raise models.fault(key, "must be an object under a name")
    provider = key.partition("/")[0] if "/" in key else ""
    card = entry.fill(replace(defaults, id=key, provider=provider, display_name=key, known=True))
    if not card.provider:
        raise entry.fault("provider", TEXT.rule)
    reasoning, window = _reasoning(entry.child("reasoning"), card.max_input_tokens), card.max_input_tokens
    if reasoning is not None and "maxInputTokens" not in entry.values:
        window = max(tokens for _, tokens in reasoning.levels)
    return replace(card, reasoning=reasoning, max_input_tokens=window)


def _reasoning(entry: JsonObject | None, window: int) -> Reasoning | None:
    if entry is None:
        return None
    levels = entry.child("levels")
    if levels is None or not levels.values:
        raise entry.fault("levels", "must name at least one level")
    windows: list[tuple[str, int]] = []
    for level in levels.values:
        details = levels.child(level)
        if details is None:
            raise levels.fault(level, "must be an object")
        windows.append((level, details.tokens("maxInputTokens", window)))
    default = entry.text("default", "")
    if default not in levels.values:
        known = ", ".join(levels.values)
        raise entry.fault("default", 'is "{level}", which is not a level ({known})', level=default, known=known)
    return Reasoning(default, tuple(windows))
