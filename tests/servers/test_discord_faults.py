"""Injected faults and rate limits of the loopback Discord."""

import asyncio
from typing import Any, cast

import aiohttp
import discord
import pytest

from tests.servers.discord import ApiError, DiscordServer
from tests.servers.discord.limits import Limits
from tests.servers.discord.sdk import Client, Raw, raw, running, talking

SEND = "POST /channels/*/messages"


async def test_limits_of_a_route_and_of_everything_are_honoured() -> None:
    async with talking() as (dc, client):
        dm = await client.create_dm(discord.Object(dc.user().id))
        for kind in ("rate_limit", "rate_limit_global"):
            fault = dc.fault(SEND, kind, times=2, retry_after=0.01)
            assert (await dm.send(kind)).content == kind
            assert fault.hits == 2
        assert [entry.status for entry in dc.calls("POST", "/channels/{channel_id}/messages")] == [429, 429, 200] * 2
        assert [message.text for message in dc.dm().messages] == ["rate_limit", "rate_limit_global"]


@pytest.mark.parametrize(
    ("kind", "details", "status", "code"),
    [
        ("rate_limit", {"retry_after": 7.5}, 429, 0),
        ("rate_limit", {"scope": "shared"}, 429, 0),
        ("rate_limit_global", {}, 429, 0),
        ("server_error", {}, 502, 0),
        ("server_error", {"status": 503}, 503, 0),
        ("refuse", {}, 403, 50013),
        ("refuse", {"status": 404, "code": 10003, "text": "Unknown Channel"}, 404, 10003),
    ],
)
async def test_each_error_response(
    dc: DiscordServer, http: Raw, kind: Any, details: dict[str, Any], status: int, code: int
) -> None:
    call = f"POST /channels/{dc.dm().id}/messages"
    fault = dc.fault(SEND, kind, skip=1, **details)
    answers = [await http.call(call, {"content": text}) for text in ("before", "struck", "after")]
    assert [answer[0] for answer in answers] == [200, status, 200]
    assert answers[1][1]["code"] == code
    assert answers[1][1].get("retry_after") == details.get("retry_after", 1.0 if status == 429 else None)
    assert [message.text for message in dc.dm().messages] == ["before", "after"]
    assert fault.hits == 1
    assert [entry.code for entry in dc.refusals] == [code]
    assert dc.violations == []


@pytest.mark.parametrize("kind", ["drop", "drop_after", "hang", "hang_after", "slow"])
async def test_each_missing_response(dc: DiscordServer, http: Raw, kind: Any) -> None:
    call = f"POST /channels/{dc.dm().id}/messages"
    dc.fault(SEND, kind, seconds=60)
    with pytest.raises((aiohttp.ServerDisconnectedError, asyncio.TimeoutError)):
        await http.call(call, {"content": "struck"}, timeout=aiohttp.ClientTimeout(0.2))
    await http.call(call, {"content": "after"})
    done = kind in ("drop_after", "hang_after", "slow")
    assert [message.text for message in dc.dm().messages] == [*["struck"] * done, "after"]
    assert dc.requests[0].status == 0


async def test_headers_and_body_of_a_429() -> None:
    async with DiscordServer() as dc, aiohttp.ClientSession() as session:
        dc.fault("GET /users/@me", "rate_limit", retry_after=2.4)
        dc.fault("*", "rate_limit_global")
        dc.fault("*", "cloudflare")
        responses = []
        for _ in range(4):
            async with session.get(f"{dc.root}/users/@me", headers={"Authorization": f"Bot {dc.token}"}) as answer:
                responses.append(dict(answer.headers) | {"type": answer.content_type})
        route, everything, proxy, fine = responses
        assert (route["Via"], route["X-RateLimit-Scope"], route["Retry-After"]) == ("1.1 google", "user", "2")
        assert (everything["X-RateLimit-Scope"], everything["X-RateLimit-Global"]) == ("global", "true")
        assert proxy["type"] == "text/html"
        assert "Via" not in proxy
        assert {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset-After"} < fine.keys()
        assert fine["X-RateLimit-Bucket"] == route["X-RateLimit-Bucket"]
        assert "X-RateLimit-Reset" in fine


async def test_faults_match_calls(dc: DiscordServer, http: Raw) -> None:
    call = f"POST /channels/{dc.dm().id}/messages"
    fault = dc.fault("POST **/messages", "server_error", times=None, when=lambda body: body["content"] == "bad")
    assert [(await http.call(call, {"content": text}))[0] for text in ("good", "bad", "bad")] == [200, 502, 502]
    dc.clear_faults()
    assert (await http.call(call, {"content": "bad"}))[0] == 200
    assert fault.hits == 2
    elsewhere = dc.fault("PATCH /channels/{channel_id}/messages/{message_id}", "server_error")
    assert (await http.call(call, {"content": "x"}))[0] == 200
    assert not elsewhere.hits
    with pytest.raises(ValueError, match="unknown fault"):
        dc.fault("*", cast(Any, "gremlins"))


async def test_discord_py_retries_after_a_server_error(dc: DiscordServer) -> None:
    fault = dc.fault("GET /users/@me", "server_error", status=500)
    async with running(dc, Client()):
        assert fault.hits == 1


async def many(http: Raw, call: str, times: int) -> list[int]:
    return [(await http.call(call, {"content": "x"}))[0] for _ in range(times)]


async def test_five_sends_and_edits_in_five_seconds_when_limits_are_on() -> None:
    async with DiscordServer(limits=True) as dc, raw(dc) as http:
        here, there = (f"/channels/{dc.dm(who).id}/messages" for who in ("alice", "bob"))
        assert await many(http, f"POST {here}", 3) == [200] * 3
        edit = f"PATCH {here}/{dc.dm().messages[0].id}"
        assert await many(http, edit, 4) == [200, 200, 429, 429]
        assert 4 < dc.requests[-1].answer["retry_after"] <= 5
        assert await many(http, f"POST {there}", 1) == [200]
        dc.advance(5.1)
        assert await many(http, edit, 1) == [200]


def test_rate_limits_are_counted_and_announced() -> None:
    now = [100.0]
    limits = Limits(lambda: now[0], enforced=True)
    route = "POST /channels/{channel_id}/messages"
    for _ in range(5):
        limits.spend(route, "1")
        now[0] += 0.5
    headers = limits.headers(route, "1")
    assert (headers["X-RateLimit-Remaining"], headers["X-RateLimit-Limit"]) == ("0", "5")
    assert (headers["X-RateLimit-Reset-After"], headers["X-RateLimit-Reset"]) == ("2.500", "105.000")
    with pytest.raises(ApiError) as refused:
        limits.spend(route, "1")
    assert refused.value.extra["retry_after"] == 2.5
    limits.spend("POST /channels/{channel_id}/typing", "1")
    now[0] = 105.0
    limits.spend(route, "1")
    assert limits.headers("GET /users/@me", "")["X-RateLimit-Remaining"] == "9999"
