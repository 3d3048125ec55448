"""Discovery against small servers on loopback: what is asked, what is believed, and where a key never goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import httpx
import pytest
from aiohttp import web

from routing.calls import ApiType, ProviderProfile
from routing.config import variable
from routing.discovery import (
    DiscoveredModel,
    DiscoveryError,
    discover,
    load_discovered,
    save_discovered,
)
from routing.errors import ConfigError

KEY = "sk-secret-123"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """A server on loopback that answers everything with `handler`; gives its address and what it was asked."""
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


def replying(*pages: object, status: int = 200) -> Handler:
    """Answers the first request with the first page, and so on; the last page repeats."""
    rest = list(pages)

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(rest.pop(0) if len(rest) > 1 else rest[0], status=status)

    return answer


def profile(name: str, api_type: ApiType | None, base: str | None, key: str | None, seconds: float) -> ProviderProfile:
    return ProviderProfile(name, api_type, base, key, seconds, variable(name))


async def found(
    base: str | None,
    api_type: ApiType = "openai",
    key: str | None = KEY,
    seconds: float = 20,
    name: str = "mine",
) -> tuple[DiscoveredModel, ...]:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await discover(profile(name, api_type, base, key, seconds), client)


async def refusal(
    base: str | None,
    api_type: ApiType = "openai",
    key: str | None = KEY,
    seconds: float = 20,
    name: str = "mine",
) -> DiscoveryError:
    with pytest.raises(DiscoveryError) as refused:
        await found(base, api_type, key, seconds, name)
    assert KEY not in str(refused.value)
    return refused.value


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


async def test_gemini_keeps_what_generates_and_drops_the_prefix_and_the_key_is_not_in_the_address() -> None:
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


async def test_a_profile_without_a_protocol_is_asked_as_openai_is() -> None:
    async with (
        serving(replying({"data": [{"id": "a"}]})) as (base, asked),
        httpx.AsyncClient(trust_env=False) as client,
    ):
        assert await discover(profile("mine", None, base, KEY, 20), client) == (DiscoveredModel("mine/a", "a"),)
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("base", [None, "", "ftp://x", "localhost:11434", "http://", "http://u:p@h", "http://a:b", "x"])
async def test_an_address_that_is_none_is_ours_to_mend(base: str | None) -> None:
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
async def test_a_known_provider_is_at_home_without_a_base_url(name: str, api_type: ApiType, address: str) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"data": [], "models": []})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        await discover(profile(name, api_type, None, KEY, 20), client)
    assert asked == [address]


async def test_a_key_is_not_sent_to_the_home_of_another_providers_protocol() -> None:
    strangers: list[tuple[str, ApiType]] = [("mine", "openai"), ("groq", "anthropic"), ("openai", "gemini")]
    for name, api_type in strangers:
        assert (await refusal(None, api_type, name=name)).status == 400


async def test_a_key_with_impossible_characters_is_ours_to_mend() -> None:
    for key in ("sk\nx", "ключ"):
        error = await refusal("http://127.0.0.1:1", key=key)
        assert (error.status, key in str(error)) == (400, False)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503, 204])
async def test_an_upstream_failure_carries_its_status(status: int) -> None:
    async with serving(replying({"error": f"bad key {KEY}"}, status=status)) as (base, asked):
        error = await refusal(base)
    assert (error.status, error.upstream, len(asked)) == (502, status, 1)
    assert str(status) in str(error)
    assert ("MINE_API_KEY" in str(error)) == (status in (401, 403))


async def test_what_is_not_json_or_not_a_listing_is_said() -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>hello</html>", content_type="text/html")

    async with serving(page) as (base, _):
        assert "not JSON" in str(await refusal(base))
    nonsenses: list[object] = [{"data": {}}, {"models": 3}, {}, 5, None, "text"]
    for nonsense in nonsenses:
        async with serving(replying(nonsense)) as (base, _):
            error = await refusal(base)
            assert (error.status, "without a list" in str(error)) == (502, True)


async def test_a_silent_provider_runs_into_the_time_out() -> None:
    closed = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        await closed.wait()
        return web.Response()

    async with serving(silent) as (base, _):
        error = await refusal(base, seconds=0.05)
        closed.set()
    assert (error.status, "0.05 s" in str(error)) == (502, True)


async def test_a_dripping_provider_runs_into_the_time_out_too() -> None:
    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    async with serving(dripping) as (base, _):
        assert (await refusal(base, seconds=0.2)).status == 502


async def test_a_provider_that_is_down_is_502() -> None:
    async with serving(replying({})) as (base, _):
        pass
    error = await refusal(base)
    assert (error.status, error.upstream, "can't be reached" in str(error)) == (502, None, True)


async def test_an_endless_body_is_cut_off() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)

    async with serving(endless) as (base, _):
        assert "more than 8 MB" in str(await refusal(base))


async def test_pages_without_an_end_are_given_up() -> None:
    same = {"data": [{"id": "a"}], "has_more": True, "last_id": "a"}
    async with serving(replying(same)) as (base, asked):
        assert "never comes to the end" in str(await refusal(base, "anthropic"))
    assert len(asked) == 2

    count = iter(range(1000))

    async def fresh(request: web.Request) -> web.StreamResponse:
        return web.json_response({"models": [], "nextPageToken": str(next(count))})

    async with serving(fresh) as (base, asked):
        assert "never comes to the end" in str(await refusal(base, "gemini"))
    assert len(asked) == 50


async def test_a_key_does_not_follow_a_redirect_to_another_host() -> None:
    async with serving(replying({"data": [{"id": "trap"}]})) as (other, asked):

        async def away(request: web.Request) -> web.StreamResponse:
            return web.Response(status=302, headers={"location": f"{other}/v1/models"})

        for api_type in get_args(ApiType):
            async with serving(away) as (base, _):
                error = await refusal(base, api_type)
            assert (error.status, error.upstream, "not sent" in str(error)) == (502, 302, True)
    assert asked == []


async def test_a_client_that_follows_redirects_does_not_either() -> None:
    async with serving(replying({"data": []})) as (other, asked):

        async def away(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"location": other})

        async with serving(away) as (base, _), httpx.AsyncClient(follow_redirects=True, trust_env=False) as client:
            with pytest.raises(DiscoveryError, match="not sent"):
                await discover(profile("mine", "openai", base, KEY, 20), client)
    assert asked == []


async def test_a_redirect_on_the_same_host_is_followed_but_not_in_circles() -> None:
    async def moved(request: web.Request) -> web.StreamResponse:
        if request.path == "/new/models":
            return web.json_response({"data": [{"id": "a"}]})
        return web.Response(status=301, headers={"location": "/new/models"})

    async with serving(moved) as (base, _):
        assert [model.id for model in await found(base)] == ["mine/a"]

    async def circle(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"location": request.path_qs})

    async with serving(circle) as (base, asked):
        assert "circle" in str(await refusal(base))
    assert len(asked) == 4


def model(name: str) -> DiscoveredModel:
    return DiscoveredModel(name, name.title())


def test_what_was_found_is_kept_for_each_provider(tmp_path: Path) -> None:
    path = tmp_path / "models" / "discovered.json"
    assert load_discovered(path) == frozenset()
    save_discovered(path, "groq", [model("groq/a"), model("groq/b")])
    save_discovered(path, "mine", (model("mine/x/y"),))
    save_discovered(path, "groq", [model("groq/c")])
    assert load_discovered(path) == {"groq/c", "mine/x/y"}
    assert json.loads(path.read_text("utf-8"))["groq"] == [{"id": "groq/c", "displayName": "Groq/C"}]


async def test_savers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "discovered.json"
    saves = [asyncio.to_thread(save_discovered, path, f"p{n}", [model(f"p{n}/m")]) for n in range(12)]
    await asyncio.gather(*saves)
    assert load_discovered(path) == {f"p{n}/m" for n in range(12)}


@pytest.mark.parametrize(("text", "line"), [('{"a": [],\n"b": 5}', 2), ('{"a": [\n{"id": "a/b"},\n7]}', 3), ("{\n", 2)])
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "discovered.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=rf"^discovered\.json line {line}: "):
        load_discovered(path)
