"""Discovery of providers that fail, are slow, never end or redirect; and keys are sent only to their own provider."""

from __future__ import annotations

import asyncio
from typing import get_args

import httpx
import pytest
from aiohttp import web

from routing.catalog.discovery import discover
from routing.catalog.provider_models import DiscoveryError
from routing.types.llm import ApiType
from tests.routing.catalog.providers import KEY, found, profile, refusal, replying, serving


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503, 204])
async def test_an_upstream_failure_carries_its_status(status: int) -> None:
    async with serving(replying({"error": f"bad key {KEY}"}, status=status)) as (base, asked):
        error = await refusal(base)
    assert (error.status, error.upstream, len(asked)) == (502, status, 1)
    assert str(status) in str(error)
    assert ("MINE_API_KEY" in str(error)) == (status in (401, 403))


async def test_invalid_listings_are_reported() -> None:
    async def page(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="<html>hello</html>", content_type="text/html")

    async with serving(page) as (base, _):
        assert "not JSON" in str(await refusal(base))
    nonsenses: list[object] = [{"data": {}}, {"models": 3}, {}, 5, None, "text"]
    for nonsense in nonsenses:
        async with serving(replying(nonsense)) as (base, _):
            error = await refusal(base)
            assert (error.status, "without a list" in str(error)) == (502, True)


async def test_a_silent_provider_times_out() -> None:
    closed = asyncio.Event()

    async def silent(request: web.BaseRequest) -> web.StreamResponse:
        await closed.wait()
        return web.Response()

    async with serving(silent) as (base, _):
        error = await refusal(base, seconds=0.05)
        closed.set()
    assert (error.status, "0.05 s" in str(error)) == (502, True)


async def test_a_trickling_provider_times_out() -> None:
    async def dripping(request: web.BaseRequest) -> web.StreamResponse:
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


async def test_an_endless_body_is_aborted() -> None:
    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)

    async with serving(endless) as (base, _):
        assert "more than 8 MB" in str(await refusal(base))


async def test_endless_pages_are_aborted() -> None:
    same = {"data": [{"id": "a"}], "has_more": True, "last_id": "a"}
    async with serving(replying(same)) as (base, asked):
        assert "without an end" in str(await refusal(base, "anthropic"))
    assert len(asked) == 2

    count = iter(range(1000))

    async def fresh(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"models": [], "nextPageToken": str(next(count))})

    async with serving(fresh) as (base, asked):
        assert "without an end" in str(await refusal(base, "gemini"))
    assert len(asked) == 50


async def test_a_key_does_not_follow_a_redirect_to_another_host() -> None:
    async with serving(replying({"data": [{"id": "trap"}]})) as (other, asked):

        async def away(request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=302, headers={"location": f"{other}/v1/models"})

        for api_type in get_args(ApiType):
            async with serving(away) as (base, _):
                error = await refusal(base, api_type)
            assert (error.status, error.upstream, "not sent" in str(error)) == (502, 302, True)
    assert asked == []


async def test_a_client_that_follows_redirects_does_not_either() -> None:
    async with serving(replying({"data": []})) as (other, asked):

        async def away(request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=307, headers={"location": other})

        async with serving(away) as (base, _), httpx.AsyncClient(follow_redirects=True, trust_env=False) as client:
            with pytest.raises(DiscoveryError, match="not sent"):
                await discover(profile("mine", "openai", base, KEY, 20), client)
    assert asked == []


async def test_a_redirect_on_the_same_host_is_followed_but_not_in_circles() -> None:
    async def moved(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/new/models":
            return web.json_response({"data": [{"id": "a"}]})
        return web.Response(status=301, headers={"location": "/new/models"})

    async with serving(moved) as (base, _):
        assert [model.id for model in await found(base)] == ["mine/a"]

    async def circle(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"location": request.path_qs})

    async with serving(circle) as (base, asked):
        assert "circle" in str(await refusal(base))
    assert len(asked) == 4
