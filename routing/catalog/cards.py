"""Model cards and their format in `models.json`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from routing.config.jsonfile import JsonObject
from routing.config.kinds import TEMPERATURE, one_of, optional
from routing.types.decisions import SIZES, Size

TINY_TOKENS = 2048
"""Models with a window of at most this size only follow the shortest instructions."""
_TEMPERATURE = optional(TEMPERATURE)
_SIZE_CLASS = optional(one_of(SIZES))


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
    provider: str
    display_name: str
    supports_temperature: bool
    supports_vision: bool
    supports_tools: bool
    max_input_tokens: int
    reasoning: Reasoning | None
    known: bool
    temperature: float | None = None
    size_class: Size | None = None

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


def read_defaults(entry: JsonObject | None) -> ModelCard:
    """The card for unknown names; missing keys take the values above."""
    if entry is None:
        return _DEFAULTS
    return replace(
        _DEFAULTS,
        supports_temperature=entry.flag("supportsTemperature", _DEFAULTS.supports_temperature),
        supports_vision=entry.flag("supportsVision", _DEFAULTS.supports_vision),
        supports_tools=entry.flag("supportsTools", _DEFAULTS.supports_tools),
        max_input_tokens=entry.tokens("maxInputTokens", _DEFAULTS.max_input_tokens),
    )


def read_card(models: JsonObject, key: str, defaults: ModelCard) -> ModelCard:
    """Read an entry. The provider may be omitted if the id contains it. Raises ConfigError."""
    entry = models.child(key)
    if entry is None or not key.strip():
        raise models.fault(key, "must be an object under a name")
    window = entry.tokens("maxInputTokens", defaults.max_input_tokens)
    reasoning = _reasoning(entry.child("reasoning"), window)
    if reasoning is not None and "maxInputTokens" not in entry.values:
        window = max(tokens for _, tokens in reasoning.levels)
    return ModelCard(
        id=key,
        provider=entry.text("provider", key.partition("/")[0] if "/" in key else ""),
        display_name=entry.text("displayName", key),
        supports_temperature=entry.flag("supportsTemperature", defaults.supports_temperature),
        supports_vision=entry.flag("supportsVision", defaults.supports_vision),
        supports_tools=entry.flag("supportsTools", defaults.supports_tools),
        max_input_tokens=window,
        reasoning=reasoning,
        known=True,
        temperature=entry.value("temperature", _TEMPERATURE, None),
        size_class=entry.value("sizeClass", _SIZE_CLASS, None),
    )


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
        raise entry.fault("default", f'is "{default}", which is not a level ({known})')
    return Reasoning(default, tuple(windows))
