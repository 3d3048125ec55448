"""The section `critic` of `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass

from routing.config.jsonfile import JsonObject
from routing.types.model_names import is_model_name

KEYS = frozenset({"enabled", "model"})
"""Allowed keys of the section."""


@dataclass(frozen=True, slots=True)
class CriticConfig:
    """Off by default. `model` None uses the model for internal calls (`modelRouter.routingModel`), or else the first of
    the balanced pool, that is of another vendor."""

    enabled: bool = False
    model: str | None = None


def read_critic(section: JsonObject) -> CriticConfig:
    """Read `critic`: enabled, model. Raises ConfigError."""
    model = section.values.get("model")
    if model is not None and not (isinstance(model, str) and is_model_name(model.strip())):
        raise section.file.fault((*section.path, "model"), "must look like provider/model, or be null")
    return CriticConfig(section.flag("enabled", False), model.strip() if model else None)
