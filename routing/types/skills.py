"""Skills that a person or the model can switch on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from routing.text import nearest
from routing.types.tiers import Tier


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill; `body` is Markdown for the model, `model_tier` the tier that it asks for."""

    name: str
    description: str
    model_tier: Tier | None
    keywords: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills of a folder, `found` by name and `broken` by folder with the reason; both in order of name."""

    found: Mapping[str, Skill]
    broken: Mapping[str, str]

    def nearest(self, name: str) -> str | None:
        """The name that somebody may have meant, in any case; None when there is nothing like it."""
        return nearest(name, self.found)
