"""The bundled catalogue compared with LiteLLM's model map, read as JSON: every difference is known and explained."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from routing.catalog.cards import ModelCard
from routing.catalog.catalog import BUNDLED, Catalog

# The map shipped with litellm 1.106.2; a model whose retirement it dates before this day is gone there.
MAP_DAY = "2026-11-21"

# Ours that the map lacks: the map's entry for the same model elsewhere, or None, and why it is bundled all the same.
ABSENT: dict[str, tuple[str | None, str]] = {
    "openrouter/openai/gpt-5.2": ("gpt-5.2", "this map has no OpenRouter entries; the vendor's own facts"),
    "openrouter/openai/gpt-5.1": ("gpt-5.1", "as above"),
    "openrouter/anthropic/claude-opus-4.5": ("claude-opus-4-5", "as above"),
    "openrouter/anthropic/claude-sonnet-4.5": ("claude-sonnet-4-5", "as above"),
    "openrouter/anthropic/claude-haiku-4.5": ("claude-haiku-4-5", "as above"),
    "openrouter/google/gemini-2.5-pro": ("gemini/gemini-2.5-pro", "as above"),
    "openrouter/google/gemini-2.5-flash": ("gemini/gemini-2.5-flash", "as above"),
    "ollama/gpt-oss": (None, "what a machine has pulled; 8192 is what Ollama gives where memory is short"),
    "ollama/llama3.2": (None, "as above"),
    "ollama/qwen3": (None, "as above"),
    "ollama/gemma3": (None, "as above"),
    "local/smollm2-135m-instruct": (None, "runs inside this program; 2048 is what it was tuned for"),
}

# (id, field): (ours, the map's, why ours stays).
DELIBERATE: dict[tuple[str, str], tuple[object, object, str]] = {
    ("gemma-4-31b-it", "reasoning"): (False, True, "the vendor documents no effort levels for Gemma"),
    ("glm-5.3", "reasoning"): (False, True, "it thinks by itself; this LiteLLM passes it no effort"),
    ("grok-4.20", "reasoning"): (False, True, "it thinks by itself; the API takes no effort before grok-4.3"),
    ("grok-code-fast-1", "reasoning"): (False, True, "as above"),
    ("groq/qwen/qwen3.8-27b", "reasoning"): (False, True, "Groq takes only none and default for Qwen"),
}

# Retired at the vendor by the map's date, bundled all the same.
RETIRED: dict[str, str] = {
    "gpt-5.2-codex": "the routing slot's default; Azure and gateways still serve it",
    "o3-mini": "Azure and gateways still serve it, and its parameters differ from the defaults",
    "o4-mini": "as above",
}


def the_map() -> dict[str, dict[str, Any]]:
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    text = (folder / "model_prices_and_context_window_backup.json").read_text("utf-8")
    entries: dict[str, dict[str, Any]] = json.loads(text)
    return entries


MAP = the_map()
BUNDLE = Catalog.load(BUNDLED)


def map_entry(card: ModelCard) -> dict[str, Any] | None:
    """The map's entry: under the full or the plain name, else the entry of the same model elsewhere."""
    for key in (card.name, card.id):
        if key in MAP and MAP[key]["litellm_provider"] == card.provider:
            return MAP[key]
    twin = ABSENT.get(card.id, (None, ""))[0]
    return MAP[twin] if twin else None


def levels(entry: dict[str, Any], card: ModelCard) -> tuple[str, ...]:
    """The levels in our catalogue that the map says the model refuses, or does not list."""
    listed = entry.get("reasoning_effort_levels", card.levels)
    refused = [level for level in card.levels if entry.get(f"supports_{level}_reasoning_effort") is False]
    return tuple(level for level in card.levels if level in refused or level not in listed)


def differences() -> dict[tuple[str, str], tuple[object, object]]:
    found: dict[tuple[str, str], tuple[object, object]] = {}
    for card in BUNDLE.models():
        entry = map_entry(card)
        if entry is None:
            continue
        pairs: dict[str, tuple[object, object]] = {
            "window": (card.max_input_tokens, entry["max_input_tokens"]),
            "limits": ({card.limit(level) for level in (None, *card.levels)}, {entry["max_input_tokens"]}),
            "vision": (card.supports_vision, bool(entry.get("supports_vision"))),
            "reasoning": (card.reasoning is not None, bool(entry.get("supports_reasoning"))),
            "levels": (levels(entry, card), ()),
        }
        if entry.get("supports_sampling_params") is False:
            pairs["temperature"] = (card.supports_temperature, False)
        found |= {(card.id, name): pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return found


def test_every_difference_from_the_map_is_deliberate() -> None:
    expected = {key: (ours, other) for key, (ours, other, _) in DELIBERATE.items()}
    assert differences() == expected


def test_models_missing_from_litellms_map_are_listed() -> None:
    own = {card.id for card in BUNDLE.models() if card.name not in MAP and card.id not in MAP}
    assert own == set(ABSENT)


def test_a_retired_model_is_bundled_only_for_a_reason() -> None:
    retired = set()
    for card in BUNDLE.models():
        if (map_entry(card) or {}).get("deprecation_date", "9999") <= MAP_DAY:
            retired.add(card.id)
    assert retired == set(RETIRED)


def test_bundled_models_have_prices_except_local_ones() -> None:
    unpriced = {card.name for card in BUNDLE.models() if "input_cost_per_token" not in (map_entry(card) or {})}
    assert all(name.startswith(("ollama/", "local/")) for name in unpriced), sorted(unpriced)


def test_none_is_a_level_only_where_sending_nothing_means_no_reasoning() -> None:
    for card in BUNDLE.models():
        if "none" in card.levels and card.provider != "mistral":  # its documentation: reasoning is opt-in
            entry = map_entry(card)
            assert entry is not None
            assert entry["default_reasoning_effort"] == "none", card.id


def test_xhigh_is_a_level_only_where_the_vendor_has_it() -> None:
    with_it = {card.id for card in BUNDLE.models() if "xhigh" in card.levels}
    declared = {card.id for card in BUNDLE.models() if (map_entry(card) or {}).get("supports_xhigh_reasoning_effort")}
    # OpenAI has it for every model after gpt-5.1-codex-max; the map forgets the codex of 5.2.
    assert with_it - declared == {"gpt-5.2-codex"}
    assert declared - with_it == set()


@pytest.mark.parametrize(
    ("model", "level", "window"),
    [
        ("openai/gpt-5.1", "medium", 272000),
        ("openai/gpt-5.1", "high", 272000),
        ("openai/gpt-5.2", "medium", 272000),
        ("openai/gpt-5.2", "xhigh", 272000),
        ("anthropic/claude-haiku-4-5", "medium", 200000),
        ("gemini/gemini-2.5-flash", "medium", 1048576),
        ("anthropic/claude-sonnet-4-5", "high", 200000),
        ("gemini/gemini-2.5-pro", "high", 1048576),
        ("anthropic/claude-opus-4-5", "high", 200000),
    ],
)
def test_the_default_tiers_and_fallbacks_are_bundled(model: str, level: str, window: int) -> None:
    card = BUNDLE.lookup(model)
    assert (card.known, card.name, card.limit(level)) == (True, model, window)
    assert level in card.levels
    assert card.reasoning is not None
    assert card.reasoning.default == "medium"


def test_the_routing_default_and_the_local_model_are_bundled() -> None:
    assert BUNDLE.lookup("openai/gpt-5.2-codex").name == "openai/gpt-5.2-codex"
    local = BUNDLE.lookup("local/smollm2-135m-instruct")
    assert (local.provider, local.supports_vision, local.limit(None)) == ("local", False, 2048)
    assert (local.supports_tools, local.temperature) == (False, 0.1)
    assert [card for card in BUNDLE.models() if card.tiny] == [local]


def test_names_are_unique() -> None:
    names = [card.name for card in BUNDLE.models()]
    shown = [(card.provider, card.display_name) for card in BUNDLE.models()]
    assert len(set(names)) == len(names)
    assert len(set(shown)) == len(shown)
    assert all(BUNDLE.lookup(card.name) is card for card in BUNDLE.models())
