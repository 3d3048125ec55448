"""Lookups in the catalogue, files that it refuses to load, and what a rewrite keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.errors import ConfigError
from routing.types.decisions import SIZES, Size

DEFAULTS = {"supportsTemperature": True, "supportsVision": True, "maxInputTokens": 128000}


def entry(provider: str, window: int = 1000, **more: object) -> dict[str, object]:
    return {"provider": provider, "displayName": provider.title(), "maxInputTokens": window, **more}


def catalog(models: Mapping[str, object], **more: object) -> Catalog:
    return Catalog.parse(json.dumps({"models": models, "defaults": DEFAULTS, **more}), "models.json")


SMALL = {
    "gpt-5": entry("openai"),
    "gpt-5.1": entry("openai"),
    "gpt-5.2": entry("openai"),
    "gpt-5.2-codex": entry("openai"),
    "claude-haiku-4-5": entry("anthropic"),
    "llama": entry("meta"),
    "groq/llama": entry("groq"),
    "groq/openai/gpt-oss": entry("groq"),
    "qwen/qwen3": entry("cerebras"),
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gpt-5.1", "gpt-5.1"),
        ("openai/gpt-5.1", "gpt-5.1"),
        ("myrouter/gpt-5.1", "gpt-5.1"),
        (" openai/gpt-5.1 ", "gpt-5.1"),
        ("openai/gpt-5.2-codex-2026", "gpt-5.2-codex"),
        ("gpt-5.2-codex-2026", "gpt-5.2-codex"),
        ("gpt-5.2-2025-12-11", "gpt-5.2"),
        ("anthropic/claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("anthropic/claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("openrouter/openai/gpt-5.2:nitro", "gpt-5.2"),
        ("groq/llama", "groq/llama"),
        ("groq/llama-3.3-70b", "groq/llama"),
        ("ollama/llama:8b", "llama"),
        ("groq/openai/gpt-oss-120b", "groq/openai/gpt-oss"),
        ("cerebras/qwen/qwen3", "qwen/qwen3"),
        ("cerebras/qwen/qwen3-32b", "qwen/qwen3"),
    ],
)
def test_a_name_finds_its_card(name: str, found: str) -> None:
    card = catalog(SMALL).lookup(name)
    assert (card.id, card.known) == (found, True)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5.10",
        "openai/gpt-5.22",
        "gpt-5.9-mini",
        "gpt",
        "openai/gpt-5x",
        "groq",
        "openai/",
        "",
        "other/openai/gpt-oss-120b",
        "other/groq/openai/gpt-oss",
        "other/groq/openai/gpt-oss-120b",
        "llamas",
        "openai/claude",
    ],
)
def test_a_similar_name_gets_the_defaults(name: str) -> None:
    card = catalog(SMALL).lookup(name)
    assert not card.known
    assert (card.max_input_tokens, card.supports_vision, card.reasoning) == (128000, True, None)
    assert card.id == name


def test_a_scoped_id_wins_over_a_plain_one_at_every_step() -> None:
    both = catalog({"x": entry("a", 1), "h/x": entry("h", 2), "x-large": entry("a", 3)})
    assert both.lookup("h/x").max_input_tokens == 2
    assert both.lookup("h/x-large-2026").max_input_tokens == 2
    assert both.lookup("x-large-2026").max_input_tokens == 3
    assert both.lookup("other/x").max_input_tokens == 1


def test_an_unknown_model_keeps_its_provider_and_name() -> None:
    card = catalog({}).lookup("myrouter/vendor/model")
    assert (card.provider, card.display_name, card.name) == ("myrouter", "vendor/model", "myrouter/vendor/model")


def test_file_defaults_apply_and_missing_keys_use_ours() -> None:
    few = Catalog.parse('{"models": {}, "defaults": {"maxInputTokens": 4096}}', "models.json").lookup("a/b")
    none = Catalog.parse('{"models": {}}', "models.json").lookup("a/b")
    assert (few.max_input_tokens, few.supports_temperature) == (4096, True)
    assert none.max_input_tokens == 128000


def test_the_limit_depends_on_the_reasoning_level() -> None:
    levels = {"low": {"maxInputTokens": 100}, "high": {"maxInputTokens": 300}, "xhigh": {"maxInputTokens": 200}}
    models = catalog(
        {
            "thinker": entry("a", 50, reasoning={"default": "low", "levels": levels}),
            "plain": entry("a", 77),
            "flat": entry("a", 88, reasoning={"default": "on", "levels": {"on": {}}}),
        }
    )
    thinker = models.lookup("thinker")
    assert thinker.levels == ("low", "high", "xhigh")
    assert [thinker.limit(level) for level in ("low", "xhigh", None, "unheard")] == [100, 200, 300, 300]
    assert (models.lookup("plain").limit("high"), models.lookup("plain").levels) == (77, ())
    assert models.lookup("flat").limit("on") == 88


def test_the_lookup_cache_is_bounded_and_correct() -> None:
    models = catalog(SMALL)
    for number in range(5000):
        assert not models.lookup(f"nobody/model{number}").known
    assert models.lookup("openai/gpt-5.1").id == "gpt-5.1"


REASONING = '{"models": {"m": {"provider": "p",\n "reasoning": {"default": "low",\n "levels": %s}}}}'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('{"models": {\n"m": {"provider": "p",,}}}', 2, "not valid JSON"),
        ("", 1, "not valid JSON"),
        ("[]", 1, "object"),
        ('{"defaults": {}}', 1, '"models"'),
        ('{"models": []}', 1, "models must be an object"),
        ('{"models": {\n"m": 5}}', 2, "models.m must be an object"),
        ('{"models": {\n"m": {"displayName": "x"}}}', 2, "models.m.provider"),
        ('{"models": {"m": {"provider": "p",\n"maxInputTokens": -5}}}', 2, "models.m.maxInputTokens"),
        ('{"models": {"m": {"provider": "p",\n"maxInputTokens": true}}}', 2, "whole number"),
        ('{"models": {"m": {"provider": "p",\n"maxInputTokens": 1.5}}}', 2, "whole number"),
        ('{"models": {"m": {"provider": "p",\n"maxInputTokens": "9"}}}', 2, "whole number"),
        ('{"models": {"m": {"provider": "p",\n\n"supportsVision": "yes"}}}', 3, "true or false"),
        ('{"models": {"m": {"provider": "p",\n"temperature": "hot"}}}', 2, "models.m.temperature"),
        ('{"models": {"m": {"provider": "p",\n"temperature": true}}}', 2, "a number from 0 to 2"),
        ('{"models": {"m": {"provider": "p",\n"temperature": 2.1}}}', 2, "a number from 0 to 2"),
        ('{"models": {"m": {"provider": "p",\n"temperature": -1}}}', 2, "a number from 0 to 2"),
        ('{"models": {"m": {"provider": "p",\n"sizeClass": "XXL"}}}', 2, "models.m.sizeClass must be one of S"),
        ('{"models": {"m": {"provider": "p",\n"sizeClass": "xl"}}}', 2, "must be one of S, M, L, XL"),
        ('{"models": {"m": {"provider": "p",\n"sizeClass": ""}}}', 2, "must be one of S, M, L, XL"),
        ('{"models": {"m": {"provider": "p",\n"sizeClass": 7}}}', 2, "must be one of S, M, L, XL"),
        ('{"models": {"m": {"provider": "p",\n"sizeClass": ["S"]}}}', 2, "must be one of S, M, L, XL"),
        ('{"models": {"m": {"provider": " "}}}', 1, "must be a non-empty string"),
        ('{"models": {},\n"defaults": {"maxInputTokens":\n0}}', 2, "defaults.maxInputTokens"),
        (REASONING % '{"high": {}}', 2, 'default is "low", which is not a level (high)'),
        (REASONING % "{}", 3, "at least one level"),
        (REASONING % '{"low":\n5}', 3, "models.m.reasoning.levels.low must be an object"),
        (REASONING % '{"low": {"maxInputTokens":\n-1}}', 3, "reasoning.levels.low.maxInputTokens"),
        ('{"models": {"a": {"provider": "p"},\n"a": {"provider": "p"}}}', 2, '"a" is given twice'),
        ('{"models": {"a": {"provider": "p",\n"provider": "q"}}}', 2, '"provider" is given twice'),
        ('{"models": {},\n"x": NaN}', 2, "NaN"),
        ("[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_a_malformed_file_is_refused_with_file_line_and_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Catalog.parse(text, "models.json")
    assert str(refused.value).startswith(f"models.json line {line}: ")
    assert reason in str(refused.value)


def test_a_file_that_cannot_be_read_or_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"models\.json can't be read"):
        Catalog.load(tmp_path / "models.json")
    (tmp_path / "models.json").write_bytes(b'{"models": {},\n"x": "\xff"}')
    with pytest.raises(ConfigError, match=r"models\.json line 2: the text is not UTF-8"):
        Catalog.load(tmp_path / "models.json")


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_bytes(b'\xef\xbb\xbf{"models": {}}')
    assert Catalog.load(tmp_path / "models.json").models() == ()


@pytest.mark.parametrize("temperature", [None, 0.0, 1.5])
def test_a_card_has_its_own_temperature(temperature: float | None) -> None:
    assert catalog({"m": entry("p", temperature=temperature)}).lookup("p/m").temperature == temperature


@pytest.mark.parametrize("size", [None, *SIZES])
def test_a_card_has_the_owners_size_class(size: Size | None) -> None:
    assert catalog({"m": entry("p", sizeClass=size)}).lookup("p/m").size_class == size


def test_a_size_class_of_null_is_none_and_no_default_has_one() -> None:
    models = Catalog.parse(
        '{"models": {"m": {"provider": "p", "sizeClass": null}}, "defaults": {"sizeClass": "S"}}', "models.json"
    )
    assert (models.lookup("p/m").size_class, models.lookup("p/unheard").size_class) == (None, None)


def test_models_with_small_windows_are_tiny() -> None:
    models = catalog({"small": entry("p", 2048), "large": entry("p", 2049)})
    assert [models.lookup(name).tiny for name in ("p/small", "p/large", "p/unheard")] == [True, False, False]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("openai/gpt5.1", "openai/gpt-5.1"),
        ("opnai/gpt-5.2", "openai/gpt-5.2"),
        ("gpt-5.22", "openai/gpt-5.2"),
        ("anthropic/gpt-5.1", "openai/gpt-5.1"),
        ("Claude-Haiku-4.5", "anthropic/claude-haiku-4-5"),
        ("haiku", "anthropic/claude-haiku-5-5"),
        ("anthropic/claude-opus-45", "anthropic/claude-opus-4-5"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion(typed: str, first: str) -> None:
    offered = Catalog.load(BUNDLED).nearest(typed, ("openai", "anthropic"))
    assert offered[0] == first
    assert len(offered) <= 3


def test_nothing_is_offered_from_other_providers_or_for_nonsense() -> None:
    bundled = Catalog.load(BUNDLED)
    assert all(name.startswith("gemini/") for name in bundled.nearest("gemini/gemini-2.5-flsh", ("gemini",)))
    assert bundled.nearest("gpt-5.1", ()) == ()
    assert [bundled.nearest(text, ("openai",)) for text in ("", "zzzz", "openai/nonsense")] == [(), (), ()]
    assert len(bundled.nearest("gpt", ("openai",), count=5)) == 5
