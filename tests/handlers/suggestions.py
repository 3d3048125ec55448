"""Suggestions over small stores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.commands import COMMANDS
from handlers.suggestions import Suggestions
from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.types.messages import UserKey
from routing.types.people import Person, PersonSettings, Preferences
from routing.types.skills import Skill, Skills
from tests.fakes import FakeToolbox

ALICE, STRANGER = UserKey("discord", "1001"), UserKey("discord", "666")
SKILLS = Skills({name: Skill(name, "", None, (), "") for name in ("code-review", "cooking")}, {})


@dataclass(slots=True)
class Known:
    """People and their preferences: the parts of the stores that suggestions use."""

    people: dict[UserKey, Person] = field(default_factory=lambda: {ALICE: Person(1, "owner", "Alice")})
    preferred: Preferences = field(default_factory=Preferences)
    kept: PersonSettings = field(default_factory=PersonSettings)

    async def find(self, user: UserKey) -> Person | None:
        return self.people.get(user)

    async def get(self, person_id: int) -> Preferences:
        return self.preferred

    async def settings(self, person_id: int) -> PersonSettings:
        return self.kept


def models(cards: Mapping[str, object] | None = None) -> Models:
    """The bundled catalogue, or one of these cards; only openai has a key."""
    catalog = Catalog.load(BUNDLED) if cards is None else Catalog.parse(json.dumps({"models": cards}), "models.json")
    return Models(read_config(jsonfile.parse("{}", "runtime-config.json"), {"openai": "sk-1"}, {}), catalog)


def suggestions(known: Known | None = None, cards: Mapping[str, object] | None = None) -> Suggestions:
    """Suggestions for every command of the bot."""
    stores: Any = known or Known()
    box = FakeToolbox({})
    return Suggestions(COMMANDS, models(cards), box, lambda: SKILLS, stores, stores)
