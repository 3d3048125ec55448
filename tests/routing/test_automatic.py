"""Which tiers /tier auto may choose among."""

from __future__ import annotations

import pytest

from routing import automatic, jsonfile
from routing.config import read_config
from routing.models.catalog import BUNDLED, Catalog
from routing.models.choice import Models
from routing.types import Override, Preferences, Tier


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
def test_those_that_the_contracts_allow_and_somebody_serves(
    document: str, keys: dict[str, str], tiers: tuple[Tier, ...]
) -> None:
    config = read_config(jsonfile.parse(document, "x.json"), keys, {}, ())
    assert automatic.allowed(Models(config, Catalog.load(BUNDLED)), Preferences()) == tiers


def test_a_model_of_ones_own_serves_a_tier() -> None:
    models = Models(read_config(jsonfile.parse("{}", "x.json"), {"mistral": "k"}, {}, ()), Catalog.load(BUNDLED))
    own = Preferences(overrides={"deep": Override("mistral/mistral-large")})
    assert automatic.allowed(models, own) == ("balanced", "deep")
