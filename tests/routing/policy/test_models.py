"""Which model serves a tier (override, pool, local), and with which reasoning level."""

import json

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import RouterConfig, read_config
from routing.errors import Refused
from routing.policy.models import Models
from routing.types.decisions import ModelChoice, Size, SizeSource, SkippedModel
from routing.types.model_names import LOCAL_MODEL
from routing.types.people import Override, Preferences
from routing.types.tiers import Tier

CATALOG = Catalog.load(BUNDLED)
KEYS = {"openai": "sk-1", "anthropic": "sk-2"}


def config(
    document: object = None, keys: dict[str, str] | None = None, pools: dict[Tier, tuple[str, ...]] | None = None
) -> RouterConfig:
    file = jsonfile.parse(json.dumps(document or {}), "runtime-config.json")
    return read_config(file, KEYS if keys is None else keys, pools or {})


@pytest.mark.parametrize(
    ("tier", "model", "level"),
    [
        ("balanced", "openai/gpt-5.1", "medium"),
        ("smart", "openai/gpt-5.1", "high"),
        ("coding", "openai/gpt-5.2", "medium"),
        ("deep", "openai/gpt-5.2", "xhigh"),
    ],
)
def test_the_bundled_defaults(tier: Tier, model: str, level: str) -> None:
    choice = Models(config(), CATALOG).choose(tier, Preferences())
    assert (choice.model, choice.reasoning, choice.source) == (model, level, "configured")
    assert all(name.startswith("anthropic/") for name in choice.fallbacks)
    assert choice.fallbacks
    assert all(name.startswith("gemini/") for name in choice.keyless)


def test_an_override_precedes_the_pool() -> None:
    own = Preferences(overrides={"smart": Override("anthropic/claude-opus-4-5", "low")})
    choice = Models(config(), CATALOG).choose("smart", own)
    assert (choice.model, choice.reasoning, choice.source) == ("anthropic/claude-opus-4-5", "low", "override")
    assert choice.fallbacks[0] == "openai/gpt-5.1", "the pool stands behind it"
    assert Models(config(), CATALOG).choose("deep", own).source == "configured"


def test_an_override_without_a_key_is_skipped_visibly() -> None:
    own = Preferences(overrides={"smart": Override("gemini/gemini-2.5-pro", "low")})
    models = Models(config(), CATALOG)
    choice = models.choose("smart", own)
    assert (choice.model, choice.reasoning, choice.source) == ("openai/gpt-5.1", "high", "fallback")
    assert choice.skipped[0] == SkippedModel("gemini/gemini-2.5-pro", "key")
    assert models.configured("smart", own).model == "gemini/gemini-2.5-pro", "what is set stays set"


def test_the_first_model_with_a_key_is_used_and_the_rest_are_fallbacks() -> None:
    pool = ("mistral/mistral-large-4", "anthropic/claude-opus-4-5", "openai/gpt-4.1", "gemini/gemini-2.5-pro")
    choice = Models(config(pools={"deep": pool}), CATALOG).choose("deep", Preferences())
    assert (choice.model, choice.source) == ("anthropic/claude-opus-4-5", "fallback")
    card = CATALOG.lookup("anthropic/claude-opus-4-5")
    assert card is not None
    assert card.reasoning is not None
    assert choice.reasoning == card.reasoning.default
    assert choice.fallbacks == ("openai/gpt-4.1",)
    assert choice.keyless == ("mistral/mistral-large-4", "gemini/gemini-2.5-pro")


def test_without_any_key_the_local_model_serves_every_tier() -> None:
    for tier in ("balanced", "smart", "coding", "deep"):
        choice = Models(config(keys={}), CATALOG).choose(tier, Preferences())
        assert (choice.model, choice.reasoning, choice.source) == (LOCAL_MODEL, None, "local")
        assert "openai/" in choice.keyless[0]


def test_a_custom_url_needs_no_key() -> None:
    house = {"llm": {"providers": {"house": {"baseUrl": "http://127.0.0.1:1"}}}}
    models = Models(config(house, keys={}, pools={"smart": ("house/llama",)}), CATALOG)
    assert models.choose("smart", Preferences()).model == "house/llama"
    assert not models.has_key("openai")
    assert models.has_key("house")
    assert models.has_key("local")


@pytest.mark.parametrize(
    ("model", "level", "sent"),
    [
        ("openai/gpt-5.1", None, "medium"),
        ("openai/gpt-5.1", "high", "high"),
        ("openai/gpt-5.1", "none", None),
        ("openai/gpt-5.1", "xhigh", "medium"),
        ("openai/gpt-5.1", "High", "high"),
        ("openai/gpt-4.1", None, None),
        ("openai/gpt-4.1", "high", None),
        ("house/unheard-of", None, None),
        ("house/unheard-of", "high", None),
    ],
)
def test_the_level_that_is_sent(model: str, level: str | None, sent: str | None) -> None:
    assert Models(config(), CATALOG).reasoning(model, level) == sent


def test_a_configured_level_none_sends_nothing() -> None:
    models = Models(config({"modelRouter": {"smartModelReasoning": "none"}}), CATALOG)
    assert models.choose("smart", Preferences()).reasoning is None


def test_another_configured_model_takes_its_own_default_level() -> None:
    models = Models(config({"modelRouter": {"deepModel": "openai/gpt-5-pro"}}), CATALOG)
    choice = models.choose("deep", Preferences())
    assert (choice.model, choice.reasoning) == ("openai/gpt-5-pro", "high")


def sent_temperature(catalog: Catalog, model: str) -> float | None:
    models = Models(config({"modelRouter": {"temperature": 0.9}}), catalog)
    return models.request("smart", ModelChoice(model, None, "configured"), ()).temperature


def test_a_models_own_temperature_is_used() -> None:
    assert sent_temperature(CATALOG, LOCAL_MODEL) == 0.1
    assert sent_temperature(CATALOG, "openai/gpt-4.1") == 0.9
    assert sent_temperature(CATALOG, "openai/gpt-5.1") is None


@pytest.mark.parametrize(("own", "sent"), [(0, 0.0), (1.5, 1.5), (None, 0.9)])
def test_the_owners_catalogue_sets_the_temperature(own: float | None, sent: float) -> None:
    document = json.loads(BUNDLED.read_text("utf-8"))
    document["models"][LOCAL_MODEL]["temperature"] = own
    assert sent_temperature(Catalog.parse(json.dumps(document), "models.json"), LOCAL_MODEL) == sent


@pytest.mark.parametrize(
    ("model", "size", "source"),
    [
        ("house/strange", "S", "owner"),
        ("house/strange:70b", "S", "owner"),
        ("openai/gpt-5.1", "L", "owner"),
        ("router/openai/gpt-5.1-2025-11-13", "L", "owner"),
        ("house/qwen3:32b", "L", "name"),
        ("house/qwen3", "M", "family"),
        ("house/unheard-of", "M", "default"),
        (LOCAL_MODEL, "S", "name"),
    ],
)
def test_a_size_is_configured_or_derived_from_the_name(model: str, size: Size, source: SizeSource) -> None:
    cards = {"house/strange": {"sizeClass": "S"}, "gpt-5.1": {"provider": "openai", "sizeClass": "L"}}
    catalog = Catalog.parse(json.dumps({"models": {**cards, "house/qwen3": {}}}), "models.json")
    decision = Models(config(), catalog).size(model)
    assert (decision.size, decision.source) == (size, source)


def test_the_size_of_every_bundled_model_is_known() -> None:
    models = Models(config(), CATALOG)
    assert [card.name for card in CATALOG.models() if not models.size(card.name).known] == []


def test_levels_and_providers_are_checked_with_a_reason() -> None:
    models = Models(config(), CATALOG)
    assert models.check_level("openai/gpt-5.1", "HIGH") == "high"
    with pytest.raises(Refused, match=r"has no reasoning level xhigh\. It has: none, low, medium, high"):
        models.check_level("openai/gpt-5.1", "xhigh")
    with pytest.raises(Refused, match="does not take a reasoning level"):
        models.check_level("openai/gpt-4.1", "high")
    with pytest.raises(Refused, match="Allowed: anthropic, openai"):
        models.check_provider("mistral", {"openai", "anthropic"})
