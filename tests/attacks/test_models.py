"""No model name sends a provider's key to another address."""

from __future__ import annotations

import json

import pytest

from routing.config.jsonfile import JsonFile, parse
from routing.config.runtime import read_config
from routing.errors import ConfigError, ModelUnknown
from routing.llm.endpoint import resolve_endpoint
from routing.types.llm import ProviderProfile
from routing.types.model_names import is_model_name
from routing.types.tiers import TIERS, Tier
from tests.servers.model.request import ModelRequest
from tests.stories.harness import BotHarness, ask, running

ATTACKS = (
    "gemini/gemini-2.5-pro/../../../admin/delete#",
    "gemini/gemini-2.5-pro/../../../admin/delete",
    "gemini/gemini-2.5-pro/admin",
    "gemini/gemini-2.5-pro#",
    "gemini/gemini-2.5-pro?key=1",
    "gemini/gemini-2.5-pro%2f..%2fadmin",
    "gemini/..",
    "gemini/.",
    "gemini/../x",
    "gemini//x",
    "gemini/",
    "/gemini-2.5-pro",
    "gemini",
    "gemini/a b",
    "gemini/a\tb",
    "gemini/a\nb",
    "gemini/a\x00b",
    "gemini/a\u202eb",
    "gemini/a\\b",
    "gemini/a;b",
    "gemini/gemini-2.5-pro\n",
    "openrouter/meta-llama/../llama",
    "openai/gpt-5.1@evil.example/x?y",
    "../openai/gpt-5.1",
    "local/../../etc/passwd",
    "local/a\nb",
    f"openai/{'x' * 300}",
)
FINE = (
    "openrouter/meta-llama/llama-3:free",
    "openrouter/openai/gpt-5.2",
    "ollama/qwen2.5:1.5b",
    "ollama/hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
    "local/smollm2-135m-instruct",
    "local/My own model",
    "gemini/gemini-2.5-pro-preview-05-06",
    "anthropic/claude-haiku-4-5@20251001",
    "cloudflare/@cf/meta/llama-2-7b-chat-int8",
    "bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0",
    "my-router/a_b",
)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_name_that_could_be_another_address_is_refused_everywhere(name: str) -> None:
    assert not is_model_name(name)
    if not name.startswith("local/"):
        provider = name.partition("/")[0]
        with pytest.raises(ModelUnknown, match="not a valid model name"):
            resolve_endpoint(name, ProviderProfile(provider, None, None, "sk-1234567890", 30.0, "KEY"))
    places: tuple[tuple[dict[str, object], dict[Tier, tuple[str, ...]]], ...] = (
        ({"modelRouter": {"smartModel": name}}, {}),
        ({"tiers": {"smart": {"pool": [name]}}}, {}),
        ({"critic": {"model": name}}, {}),
        ({}, {TIERS[0]: (name,)}),
    )
    for document, pools in places:
        if name != name.strip():
            continue  # the configuration strips blanks
        with pytest.raises(ConfigError):
            read_config(_file(document), {}, pools)


def test_a_model_name_in_a_url_path_cannot_add_a_slash() -> None:
    profile = ProviderProfile("mine", "gemini", "http://127.0.0.1/v1beta", "sk-1234567890", 30.0, "KEY")
    with pytest.raises(ModelUnknown):
        resolve_endpoint("mine/a/b", profile)


@pytest.mark.parametrize("name", FINE)
def test_usual_model_names_are_accepted(name: str) -> None:
    assert is_model_name(name)


async def test_no_command_or_stored_choice_reaches_another_path(on: BotHarness) -> None:
    attack = ATTACKS[0]
    on.env |= {
        "GEMINI_API_KEY": "sk-test-gemini-000000000000",
        "BOT_MODEL_SELECTION_ALLOWED_PROVIDERS": "openai,gemini",
    }
    gemini = {"apiType": "gemini", "baseUrl": on.ms.vendor("gemini") + "/v1beta"}
    on.config["llm"] = {"providers": {"openai": {"apiType": "openai", "baseUrl": on.ms.openai_base}, "gemini": gemini}}
    async with running(on):
        for typed in (f"/model smart {attack}", f"/model smart {attack} anyway"):
            said = await ask(on, typed)
            assert "is not a valid model name" in said.text
            assert "Nothing was changed." in said.text
        await ask(on, "/model smart gemini/gemini-2.5-pro")
    on.change("update overrides set model = ?", attack)
    async with running(on):
        assert (await ask(on, "!smart hm")).text.startswith("You said: hm")
        assert attack not in (await ask(on, "/model")).text
    assert all(_stays(call) for call in on.ms.journal)


def _stays(call: ModelRequest) -> bool:
    return call.endpoint != "unknown" and "admin" not in call.path


def _file(document: dict[str, object]) -> JsonFile:
    return parse(json.dumps(document), "runtime-config.json")
