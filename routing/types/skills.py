"""Skills that a person or the model can activate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from routing.errors import Reason
from routing.text import nearest
from routing.types.tiers import Tier


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill; `body` is Markdown for the model, `model_tier` the tier it asks for."""

    name: str
    description: str
    model_tier: Tier | None
    keywords: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills of a folder: `found` by name, `broken` by folder with the reason; both sorted."""

    found: Mapping[str, Skill]
    broken: Mapping[str, Reason]

    def nearest(self, name: str) -> str | None:
        """The skill name closest to `name`, ignoring case; None if none is similar."""
        return nearest(name, self.found)
