"""Which tiers /tier auto may choose, and its inputs besides the message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.turn import auto_tier
from routing.types.messages import Attachment
from routing.types.people import Override, Person, Preferences
from routing.types.tiers import Tier
from routing.types.turns import Question

FENCE = "Here:\n```python\nprint(1)\n```"
PHOTO = Attachment("image", "a.png", "image/png", 5, "telegram:abc")


@pytest.mark.parametrize(
    ("document", "keys", "tiers"),
    [
        ("{}", {"openai": "k"}, ("balanced", "smart", "coding", "deep")),
        ("{}", {}, ("balanced",)),
        ("{}", {"gemini": "k"}, ("balanced", "smart", "coding")),
        ('{"tiers": {"smart": {"mayBeEscalatedTo": false}}}', {"openai": "k"}, ("balanced", "coding", "deep")),
        ('{"tiers": {"balanced": {"mayEscalate": false}}}', {"openai": "k"}, ("balanced",)),
    ],
)
def test_only_allowed_and_available_tiers_are_chosen(
    document: str, keys: dict[str, str], tiers: tuple[Tier, ...]
) -> None:
    config = read_config(jsonfile.parse(document, "x.json"), keys, {}, ())
    assert auto_tier.allowed(Models(config, Catalog.load(BUNDLED)), Preferences()) == tiers


def test_a_persons_model_makes_a_tier_available() -> None:
    models = Models(read_config(jsonfile.parse("{}", "x.json"), {"mistral": "k"}, {}, ()), Catalog.load(BUNDLED))
    own = Preferences(overrides={"deep": Override("mistral/mistral-large")})
    assert auto_tier.allowed(models, own) == ("balanced", "deep")


@dataclass(slots=True)
class Talk:
    """The tiers of the turns so far, by their first message, and the latest answer."""

    tiers_by_id: tuple[tuple[int, Tier], ...] = ()
    answer: str = ""

    async def tiers(self, conversation_id: int, limit: int, before: int | None = None) -> tuple[Tier, ...]:
        return tuple(tier for at, tier in self.tiers_by_id if before is None or at < before)[-limit:]

    def last_answer(self) -> str:
        return self.answer

    async def chooses(self, text: str, **more: Any) -> tuple[Tier, tuple[str, ...]]:
        models = Models(read_config(jsonfile.parse("{}", "x.json"), {"openai": "k"}, {}, ()), Catalog.load(BUNDLED))
        question = Question(Person(1, "owner", "Ann"), 1, text, **more)
        talk: Any = self  # only what the choice reads of a history and a context
        found = await auto_tier.choose(models, talk, question, Preferences(), talk)
        return found.tier, found.signals


async def test_code_in_the_last_answer_counts_for_any_tier() -> None:
    assert (await Talk(((1, "balanced"),), FENCE).chooses("fix it"))[0] == "coding"
    assert (await Talk(((1, "balanced"),), "It is broken.").chooses("fix it"))[0] == "balanced"
    assert (await Talk(((1, "coding"),), "It is broken.").chooses("fix it"))[0] == "coding"


async def test_pictures_are_a_feature() -> None:
    assert await Talk().chooses("", pictures=(PHOTO,)) == ("balanced", ("a picture",))
    assert await Talk().chooses("") == ("balanced", ("nothing special",))


async def test_a_retry_ignores_the_turn_it_replaces() -> None:
    talk = Talk(((1, "balanced"), (3, "deep")))
    assert (await talk.chooses("hm?"))[0] == "deep"
    assert (await talk.chooses("hm?", replaces=3))[0] == "balanced"
