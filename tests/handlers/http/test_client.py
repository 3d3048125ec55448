"""Requests with limits: what comes back, and how each failure is told."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from handlers.http.addresses import AddressRefused, PrivateHosts
from handlers.http.client import HttpClient, HttpFailed, Request
from tests.servers.website import Website, redirect


@pytest.fixture
async def site() -> AsyncIterator[Website]:
    async with Website(page="<p>Hello</p>") as made:
        yield made


def client(site: Website, proxy: str | None = None) -> HttpClient:
    """A guarded client that may reach the site."""
    return HttpClient.guarded(proxy, PrivateHosts.parse(site.host))


async def test_an_answer_has_its_type_address_and_body(site: Website) -> None:
    site.pages["/old"] = redirect("/page?x=1")
    found = await client(site).send(site.url("/old"))
    assert (found.url, found.media_type, found.charset, found.body) == (
        site.url("/page?x=1"), "text/html", "utf-8", b"<p>Hello</p>",
    )  # fmt: skip
    assert "tierbot" in site.asked[-1].headers["User-Agent"]


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw", "damaged", "br"])
async def test_compressed_answers(site: Website, name: str) -> None:
    raw = zlib.compressobj(wbits=-15)
    body = {
        "gzip": gzip.compress(b"Hello"),
        "deflate": zlib.compress(b"Hello"),
        "raw": raw.compress(b"Hello") + raw.flush(),
        "damaged": b"\x1f\x8bnonsense",
        "br": b"whatever",
    }[name]
    encoding = {"raw": "deflate", "damaged": "gzip"}.get(name, name)
    site.pages["/page"] = web.Response(body=body, headers={"Content-Encoding": encoding})
    if name in ("damaged", "br"):
        with pytest.raises(HttpFailed, match=r"damaged compressed data|not asked for"):
            await client(site).send(site.url())
    else:
        assert (await client(site).send(site.url())).body == b"Hello"


async def test_a_long_body_is_cut_or_refused(site: Website) -> None:
    site.pages["/page"] = "x" * 5_000
    found = await client(site).send(site.url(), Request(most_bytes=1_000, cut=True))
    assert (len(found.body), found.cut) == (1_000, True)
    with pytest.raises(HttpFailed, match="sent more than 1,000 bytes"):
        await client(site).send(site.url(), Request(most_bytes=1_000))


async def test_a_redirect_keeps_no_key_and_no_body(site: Website) -> None:
    async with Website(page="there") as other:
        site.pages["/page"] = redirect(other.url(), 307)
        both = HttpClient.guarded(None, PrivateHosts.parse(f"{site.host},{other.host}"))
        headers = {"Authorization": "Bearer secret", "Accept": "text/html"}
        await both.send(site.url(), Request("POST", headers, {"q": "1"}, {"a": 1}))
        last = other.asked[-1]
        assert (last.method, last.headers.get("Authorization"), last.query_string) == ("GET", None, "")
        assert (last.headers["Accept"], other.bodies[-1]) == ("text/html", b"")
        with pytest.raises(HttpFailed, match=r"answered 307"):
            await HttpClient().send(site.url())


@pytest.mark.parametrize("status", [204, 404, 429, 503, 599])
async def test_an_error_status_is_named(site: Website, status: int) -> None:
    site.pages["/page"] = web.Response(status=status)
    if status == 204:
        assert (await client(site).send(site.url())).body == b""
        return
    with pytest.raises(HttpFailed) as failed:
        await client(site).send(site.url())
    assert failed.value.status == status
    assert f"answered {status}" in failed.value.reason


async def _cut_off(request: web.BaseRequest) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _silent(_request: web.BaseRequest) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def test_failures_are_told_in_a_clause(site: Website) -> None:
    site.pages |= {"/cut": _cut_off, "/silent": _silent}
    reasons = {}
    for path in ("/cut", "/silent"):
        with pytest.raises(HttpFailed) as failed:
            await client(site).send(site.url(path), Request(seconds=0.2))
        reasons[path] = failed.value.reason
    assert reasons == {"/cut": "broke the connection", "/silent": "did not answer within 0.2 s"}
    with pytest.raises(HttpFailed, match="does not speak https"):
        await client(site).send(site.url().replace("http:", "https:"))
    await site.go_down()
    with pytest.raises(HttpFailed, match="refuses connections"):
        await client(site).send(site.url())


async def test_an_unknown_host_is_told() -> None:
    async def nothing(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such host")

    with pytest.raises(HttpFailed, match="was not found"):
        await HttpClient(None, PrivateHosts(), nothing).send("https://nowhere.example/")


async def test_a_proxy_is_asked_for_https_only(site: Website) -> None:
    async def public(_host: str, _port: int) -> list[str]:
        return ["8.8.8.8"]

    async with Website() as proxy:
        behind = HttpClient(f"http://{proxy.host}", PrivateHosts.parse(site.host), public)
        assert (await behind.send(site.url())).body == b"<p>Hello</p>"
        assert proxy.asked == []
        with pytest.raises(HttpFailed, match=r"was refused by the proxy"):
            await behind.send("https://example.com/")
        assert [(each.method, each.host.partition(":")[0]) for each in proxy.asked] == [("CONNECT", "example.com")]
        for url in ("https://10.0.0.1/", "https://localhost/", "https://wiki.internal/"):
            with pytest.raises(AddressRefused):
                await behind.send(url)
        assert len(proxy.asked) == 1


async def test_a_proxy_does_not_get_names_that_are_private_here(site: Website) -> None:
    async def private(_host: str, _port: int) -> list[str]:
        return ["192.168.0.5"]

    async with Website() as proxy:
        with pytest.raises(AddressRefused):
            await HttpClient(f"http://{proxy.host}", PrivateHosts(), private).send("https://example.com/")
        assert proxy.asked == []
    with pytest.raises(HttpFailed, match="HTTPS_PROXY has to begin"):
        await HttpClient("socks5://127.0.0.1:1").send("https://example.com/")
