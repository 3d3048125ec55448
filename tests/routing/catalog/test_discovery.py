"""Discovery with small servers on loopback: its requests, and which answers it accepts."""

from __future__ import annotations

import httpx
import pytest

from routing.catalog.discovery import DiscoveredModel, discover
from routing.types.llm import ApiType
from tests.routing.catalog.providers import KEY, found, profile, refusal, replying, serving


async def test_an_openai_listing_is_sorted_by_display_name_and_prefixed() -> None:
    data = [{"id": "zeta"}, {"id": "m", "name": "Beta"}, {"id": "vendor/a", "name": "alpha"}, {"id": "zeta"}]
    async with serving(replying({"object": "list", "data": data})) as (base, asked):
        models = await found(base, name="groq")
    assert models == (
        DiscoveredModel("groq/vendor/a", "alpha"),
        DiscoveredModel("groq/m", "Beta"),
        DiscoveredModel("groq/zeta", "zeta"),
    )
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("api_type", "base", "path"),
    [
        ("openai", "", "/v1/models"),
        ("openai", "/", "/v1/models"),
        ("openai", "/openai/v1/", "/openai/v1/models"),
        ("openai", "/api?version=3", "/api/models?version=3"),
        ("anthropic", "", "/v1/models?limit=1000"),
        ("anthropic", "/v1", "/v1/models?limit=1000"),
        ("gemini", "", "/v1beta/models?pageSize=1000"),
        ("gemini", "/v1", "/v1/models?pageSize=1000"),
    ],
)
async def test_a_base_url_without_a_path_gets_the_usual_one(api_type: ApiType, base: str, path: str) -> None:
    async with serving(replying({"data": [], "models": []})) as (host, asked):
        assert await found(host + base, api_type) == ()
    assert asked[0].path_qs == path


async def test_anthropic_pages_are_followed_to_the_last() -> None:
    one = {"data": [{"id": "claude-b", "display_name": "Claude B"}], "has_more": True, "last_id": "claude-b"}
    two = {"data": [{"id": "claude-a", "display_name": "Claude A"}], "has_more": False, "last_id": "claude-a"}
    async with serving(replying(one, two)) as (base, asked):
        models = await found(base, "anthropic", name="anthropic")
    assert [model.id for model in models] == ["anthropic/claude-a", "anthropic/claude-b"]
    assert [request.query.get("after_id") for request in asked] == [None, "claude-b"]
    for request in asked:
        assert request.headers["x-api-key"] == KEY
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in request.headers


async def test_gemini_lists_generating_models_and_the_key_is_not_in_the_url() -> None:
    generates = {"supportedGenerationMethods": ["generateContent", "countTokens"]}
    one = {
        "models": [
            {"name": "models/gemini-b", "displayName": "Gemini B", **generates},
            {"name": "models/embedding", "displayName": "E", "supportedGenerationMethods": ["embedContent"]},
            {"name": "models/silent", "displayName": "S"},
        ],
        "nextPageToken": "page 2&x",
    }
    two = {"models": [{"name": "models/gemini-a", **generates}]}
    async with serving(replying(one, two)) as (base, asked):
        models = await found(base, "gemini", name="gemini")
    assert models == (
        DiscoveredModel("gemini/gemini-b", "Gemini B"),
        DiscoveredModel("gemini/gemini-a", "gemini-a"),
    )
    assert asked[1].query["pageToken"] == "page 2&x"
    for request in asked:
        assert request.headers["x-goog-api-key"] == KEY
        assert KEY not in request.path_qs


async def test_an_empty_gemini_page_and_a_bare_list_are_listings() -> None:
    async with serving(replying({})) as (base, _):
        assert await found(base, "gemini") == ()
    async with serving(replying([{"id": "a"}])) as (base, _):
        assert [model.id for model in await found(base)] == ["mine/a"]


async def test_rows_without_a_usable_name_are_left_out() -> None:
    rows = [
        5,
        {},
        {"id": 7},
        {"id": ""},
        {"id": "a b"},
        {"id": "a\nb"},
        {"id": "x" * 201},
        {"id": "ok", "name": "\x1b"},
    ]
    async with serving(replying({"data": rows})) as (base, _):
        assert await found(base) == (DiscoveredModel("mine/ok", "ok"),)


@pytest.mark.parametrize("key", [None, "", "  "])
async def test_without_a_key_the_variable_is_named_and_nothing_is_asked(key: str | None) -> None:
    async with serving(replying({"data": []})) as (base, asked):
        error = await refusal(base, key=key, name="my-router")
    assert (error.status, error.upstream, asked) == (400, None, [])
    assert "MY_ROUTER_API_KEY" in str(error)


async def test_ollama_needs_no_key() -> None:
    async with serving(replying({"data": [{"id": "llama3.2:1b"}]})) as (base, asked):
        assert [model.id for model in await found(base, key=None, name="ollama")] == ["ollama/llama3.2:1b"]
    assert asked[0].headers["authorization"] == "Bearer none"


async def test_a_profile_without_a_protocol_uses_openais() -> None:
    async with (
        serving(replying({"data": [{"id": "a"}]})) as (base, asked),
        httpx.AsyncClient(trust_env=False) as client,
    ):
        assert await discover(profile("mine", None, base, KEY, 20), client) == (DiscoveredModel("mine/a", "a"),)
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("base", [None, "", "ftp://x", "localhost:11434", "http://", "http://u:p@h", "http://a:b", "x"])
async def test_an_invalid_url_is_a_configuration_error(base: str | None) -> None:
    error = await refusal(base)
    assert error.status == 400
    assert "llm.providers.mine.baseUrl" in str(error)


@pytest.mark.parametrize(
    ("name", "api_type", "address"),
    [
        ("openai", "openai", "https://api.openai.com/v1/models"),
        ("anthropic", "anthropic", "https://api.anthropic.com/v1/models?limit=1000"),
        ("gemini", "gemini", "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000"),
        ("groq", "openai", "https://api.groq.com/openai/v1/models"),
    ],
)
async def test_a_known_provider_has_a_default_base_url(name: str, api_type: ApiType, address: str) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"data": [], "models": []})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        await discover(profile(name, api_type, None, KEY, 20), client)
    assert asked == [address]


async def test_a_key_is_not_sent_to_another_providers_default_url() -> None:
    strangers: list[tuple[str, ApiType]] = [("mine", "openai"), ("groq", "anthropic"), ("openai", "gemini")]
    for name, api_type in strangers:
        assert (await refusal(None, api_type, name=name)).status == 400


async def test_a_key_with_invalid_characters_is_a_configuration_error() -> None:
    for key in ("sk\nx", "ключ"):
        error = await refusal("http://127.0.0.1:1", key=key)
        assert (error.status, key in str(error)) == (400, False)
