"""runtime-config.json: valid values, and errors for invalid ones."""

import json

import pytest

from routing.config import jsonfile
from routing.config.runtime import RouterConfig, parse_pool, read_config, variable
from routing.errors import ConfigError


def read(document: object, keys: dict[str, str] | None = None, allowed: tuple[str, ...] = ()) -> RouterConfig:
    return read_config(jsonfile.parse(json.dumps(document, indent=1), "runtime-config.json"), keys or {}, {}, allowed)


def test_an_empty_file_is_the_defaults() -> None:
    config = read({})
    assert [pool[0] for pool in config.pools.values()] == [
        "openai/gpt-5.1", "openai/gpt-5.1", "openai/gpt-5.2", "openai/gpt-5.2",
    ]  # fmt: skip
    assert dict(config.reasoning) == {
        "balanced": "medium", "smart": "high", "coding": "medium", "deep": "xhigh",
    }  # fmt: skip
    assert (config.temperature, config.compaction.most_tokens, config.unknown_keys) == (0.7, 50_000, ())
    assert {"openai", "anthropic"} <= config.allowed


def test_a_partial_object_keeps_the_other_defaults() -> None:
    config = read({"modelRouter": {"smartModel": "acme/big", "temperature": 0}, "compaction": {"maxContextTokens": 99}})
    assert config.pools["smart"][0] == "acme/big"
    assert config.pools["deep"][0] == "openai/gpt-5.2"
    assert (config.temperature, config.compaction.most_tokens) == (0.0, 99)
    assert config.reasoning["smart"] is None  # the level of the default model is not that of another one


@pytest.mark.parametrize("name", ["ACME_BASE_URL", "ACME_API_BASE"])
def test_an_address_comes_from_the_file_first_then_from_the_environment(name: str) -> None:
    file = jsonfile.parse('{"llm": {"providers": {"openai": {"baseUrl": "http://file/v1"}}}}', "runtime-config.json")
    keys = {"openai": "k", "acme": "k", "mistral": "k"}
    config = read_config(file, keys, {}, variables={name: "http://env/v1", "OPENAI_BASE_URL": "http://env/v1"})
    addresses = [config.profile(each).base_url for each in ("openai", "acme", "mistral")]
    assert addresses == ["http://file/v1", "http://env/v1", None]
    with pytest.raises(ConfigError, match=f"^{name} must be an http:// or https:// address"):
        read_config(file, keys, {}, variables={name: "env"})


def test_keys_come_from_the_file_first_then_from_the_environment() -> None:
    document = {"llm": {"providers": {"openai": {"apiKey": "from-file"}, "acme": {"baseUrl": "http://h/v1"}}}}
    config = read(document, {"openai": "from-env", "acme": "acme-env", "mistral": "m"})
    assert config.profile("openai").api_key == "from-file"
    assert config.profile("acme").api_key == "acme-env"
    assert config.profile("mistral").api_key == "m"
    assert config.profile("nobody").api_key is None
    assert config.allowed >= {"openai", "anthropic", "acme", "mistral"}


@pytest.mark.parametrize(
    ("name", "body", "api_type"),
    [
        ("openai", {}, "openai"),
        ("anthropic", {}, "anthropic"),
        ("gemini", {"apiType": ""}, "gemini"),
        ("acme", {"baseUrl": "http://h"}, "openai"),
        ("acme", {"baseUrl": "http://h", "apiType": "anthropic"}, "anthropic"),
        ("acme", {"apiType": " openai"}, "openai"),
        ("gemini", {"apiType": "  "}, "gemini"),
        ("mistral", {"apiKey": "k"}, None),
    ],
)
def test_the_protocol_is_configured_or_implied_by_the_name(name: str, body: object, api_type: str | None) -> None:
    assert read({"llm": {"providers": {name: body}}}).profile(name).api_type == api_type


@pytest.mark.parametrize(
    "address", ["ftp://x", "x", "http://", "http://me:secret@host/", "http://a:b", "http://[::1", 5]
)
def test_an_address_that_no_call_could_use_is_refused_with_its_line(address: object) -> None:
    with pytest.raises(
        ConfigError, match=r"line 5: llm\.providers\.acme\.baseUrl must be an http:// or https:// address"
    ):
        read({"llm": {"providers": {"acme": {"baseUrl": address}}}})


@pytest.mark.parametrize(("provider", "name"), [("openai", "OPENAI_API_KEY"), ("my-router", "MY_ROUTER_API_KEY")])
def test_the_variable_of_a_provider(provider: str, name: str) -> None:
    assert variable(provider) == name
    assert read({}).profile(provider).variable == name


def test_a_listed_provider_is_the_only_one_allowed() -> None:
    assert read({}, {"mistral": "m"}, ("openai",)).allowed == {"openai"}


def test_the_environments_pool_wins_over_the_files() -> None:
    file = jsonfile.parse('{"tiers": {"deep": {"pool": ["a/1", "b/2"]}}}', "x.json")
    assert read_config(file, {}, {}).pools["deep"] == ("a/1", "b/2")
    assert read_config(file, {}, {"deep": ("c/3",)}).pools["deep"] == ("c/3",)


def test_the_contracts_are_read_with_the_tiers_own_models() -> None:
    config = read({"modelRouter": {"smartModel": "acme/big"}, "tiers": {"smart": {"attempts": 1}}})
    assert (config.contracts["smart"].attempts, config.contracts["smart"].pool[0]) == (1, "acme/big")
    assert dict(config.pools) == {tier: contract.pool for tier, contract in config.contracts.items()}


def test_a_pool_is_read_from_text() -> None:
    assert parse_pool(" a/1 ,, b/2 ,") == ("a/1", "b/2")
    assert parse_pool("") == ()


def test_blanks_around_a_tiers_model_are_stripped() -> None:
    assert read({"modelRouter": {"smartModel": " acme/big "}}).pools["smart"][0] == "acme/big"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"modelRouter": {"smartModel": "gpt-5.1"}}, "modelRouter.smartModel must look like provider/model"),
        (
            {"modelRouter": {"defaultTier": "cheap"}},
            "modelRouter.defaultTier must be one of auto, balanced, smart, coding, deep",
        ),
        ({"modelRouter": {"defaultTier": ["auto"]}}, "modelRouter.defaultTier must be one of auto, balanced, smart"),
        ({"modelRouter": {"smartModel": "openai/"}}, "modelRouter.smartModel must look like provider/model"),
        ({"modelRouter": {"deepModel": "/gpt-5.1"}}, "modelRouter.deepModel must look like provider/model"),
        ({"modelRouter": {"routingModel": " / "}}, "modelRouter.routingModel must look like provider/model"),
        ({"modelRouter": {"temperature": 3}}, "must be a number from 0 to 2"),
        ({"modelRouter": {"temperature": True}}, "must be a number"),
        ({"tiers": {"deep": {"pool": "a/1"}}}, "must be a list of models"),
        ({"tiers": {"deep": {"pool": []}}}, "at least one model"),
        ({"tiers": {"deep": {"pool": ["a/1", "a/1"]}}}, "not in the pool already"),
        ({"tiers": {"deep": {"pool": ["nonsense"]}}}, "provider/model"),
        ({"tiers": {"dep": {"pool": ["a/1"]}}}, "is not a tier"),
        ({"tiers": {"smart": {"deadlineSeconds": 90}}}, "must end before the deadline"),
        ({"llm": {"providers": {"x": {"apiType": "soap"}}}}, "must be one of openai, anthropic, gemini"),
        ({"llm": {"providers": {"x": {"apiType": 7}}}}, "must be a string or null"),
        ({"llm": {"providers": {"x": {"apiKey": 7}}}}, "must be a string or null"),
        ({"llm": {"providers": {"x": {"requestTimeoutSeconds": -1}}}}, "must be a number from 0"),
        ({"llm": {"providers": {"x": "key"}}}, "must be an object"),
        ({"llm": []}, "must be an object"),
        ({"compaction": {"maxContextTokens": "many"}}, "maxContextTokens"),
    ],
)
def test_a_wrong_value_is_refused_with_file_line_and_reason(document: object, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(document)
    assert words in str(refused.value)
    assert "runtime-config.json" in str(refused.value)
    assert any(f"{mark}{line}" in str(refused.value) for mark in ("line ", ":") for line in range(2, 9))


def test_keys_never_appear_in_errors_or_reprs() -> None:
    profile = read({"llm": {"providers": {"x": {"apiKey": "sk-very-secret"}}}}).profile("x")
    assert "sk-very-secret" not in repr(profile)


def test_unknown_keys_are_named() -> None:
    tiers = {"deep": {"attempts": 1, "deadline": 3}, "smart": None}
    config = read({"modelRouter": {"smartModle": "a/b"}, "extra": 1, "tools": {"maxResultChars": 5}, "tiers": tiers})
    assert set(config.unknown_keys) == {"extra", "modelRouter.smartModle", "tiers.deep.deadline"}
