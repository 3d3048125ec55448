"""Addresses, redirects, names and bodies that attack the one who fetches them."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from handlers.http.addresses import AddressRefused, PrivateHosts
from handlers.http.client import MAX_REDIRECTS, HttpClient, HttpFailed, Request
from handlers.tools.dependencies import WebSettings
from handlers.tools.web.pages import PageTools, _without_tags
from handlers.tools.web.worker_process import WorkerFailed, WorkerProcess
from routing.errors import ToolFailed
from tests.attacks.growth import superlinear
from tests.handlers.tools.files import scope
from tests.servers.website import Website, redirect

ADDRESSES = (
    "http://127.0.0.1:{port}/", "http://127.0.0.1.:{port}/", "http://localhost:{port}/", "http://LOCALHOST:{port}/",
    "http://127.1:{port}/", "http://127.0.1:{port}/", "http://2130706433:{port}/", "http://017700000001:{port}/",
    "http://0x7f000001:{port}/", "http://0x7f.0.0.1:{port}/", "http://0177.0.0.1:{port}/",
    "http://0:{port}/", "http://0.0.0.0:{port}/", "http://[::1]:{port}/", "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1%25eth0]/", "http://[fd00:ec2::254]/",
    "http://１２７.０.０.１:{port}/", "http://①②⑦.⓪.⓪.①:{port}/", "http://127。0。0。1:{port}/", "http://ⓛocalhost:{port}/",
    "http://%31%32%37.0.0.1:{port}/", "http://169.254.169.254/latest/meta-data/", "http://2852039166/",
    "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://[::ffff:169.254.169.254]/", "http://100.100.100.200/",
    "http://168.63.129.16/", "http://192.0.0.192/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/",
    "http://224.0.0.1/", "http://255.255.255.255/", "http://134744072/", "http://8.8/", "http://0x8080808/",
    "file:///etc/passwd", "file:/etc/passwd", "FILE:///etc/passwd", "file://127.0.0.1/etc/passwd", "gopher://127.0.0.1/",
    "gopher://8.8.8.8:25/_HELO", "ftp://8.8.8.8/", "dict://8.8.8.8:11211/", "ldap://8.8.8.8/", "data:text/html,hi",
    "javascript:alert(1)", "jar:http://8.8.8.8/!/", "unix:/var/run/docker.sock", "ws://8.8.8.8/", "view-source:http://a/",
    "http://user@8.8.8.8/", "http://user:password@8.8.8.8/", "http://:password@8.8.8.8/", "http://8.8.8.8@127.0.0.1/",
    "http://127.0.0.1#@8.8.8.8/", "http://127.0.0.1\\@8.8.8.8/", "http://8.8.8.8\\@127.0.0.1/", "http:///etc/passwd",
    "http://", "http://?", "http://:80/", "http://8.8.8.8:22/", "http://8.8.8.8:25/", "http://8.8.8.8:99999/", "http://[/",
    "//127.0.0.1:{port}/", "127.0.0.1:{port}/", "localhost:{port}/", "", " ", "\n", "\0",
    "http://127.0.0.1:{port}/\r\nX: y",
    "http://a.example/" + "x" * 5_000, "http://" + "a." * 3_000, "\u202ehttp://127.0.0.1:{port}/", "http://\ud800/",
)  # fmt: skip
"""{port} is that of a server on this machine, which must not be reached."""


@pytest.fixture
async def site() -> AsyncIterator[Website]:
    async with Website() as made:
        yield made


def allowed(site: Website) -> HttpClient:
    return HttpClient.guarded(None, PrivateHosts.parse(site.host))


async def _names(host: str, _port: int) -> list[str]:
    """Like the system's resolver, without a network: everything leads to this machine."""
    return ["127.0.0.1"] if host else []


async def test_no_spelling_of_a_private_address_is_fetched(site: Website) -> None:
    site.pages["/"] = "secret"
    with pytest.raises(AddressRefused):
        await HttpClient(None, PrivateHosts(), _names).send(f"http://127.0.0.1.nip.example:{site.port}/")
    for each in ADDRESSES:
        for client in (HttpClient.guarded(), HttpClient(None, PrivateHosts(), _names)):
            with pytest.raises(AddressRefused):
                await client.send(each.replace("{port}", str(site.port)), Request(seconds=5))
    assert site.asked == []


async def test_no_redirect_leads_to_a_private_address(site: Website) -> None:
    async with Website() as inside:
        inside.pages["/"] = "secret"
        for each in ADDRESSES:
            target = each.replace("{port}", str(inside.port))
            if "\r" in target or "\0" in target or "\n" in target or "\ud800" in target:
                continue  # can't stand in a header
            site.pages["/page"] = redirect(target)
            with pytest.raises(ToolFailed):
                await allowed(site).send(site.url(), Request(seconds=5))
        assert inside.asked == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_end(site: Website, status: int) -> None:
    site.pages["/page"] = redirect("/page", status)
    with pytest.raises(HttpFailed, match="redirects more than 5 times"):
        await allowed(site).send(site.url())
    assert len(site.asked) == MAX_REDIRECTS + 1


async def test_a_name_that_changes_its_address_gains_nothing(site: Website) -> None:
    """127.0.0.2 stands for a public address: it is allowed, and what listens there is another site."""
    site.pages["/page"] = "secret"
    answers = iter([["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]])

    async def rebinding(_host: str, _port: int) -> list[str]:
        return next(answers)

    async with outside(site.port) as reached:
        client = HttpClient(None, PrivateHosts.parse("127.0.0.2/32"), rebinding)
        url = f"http://rebind.example:{site.port}/page"
        assert (await client.send(url)).body == b"outside"
        for _ in range(2):
            with pytest.raises(AddressRefused):
                await client.send(url)
    assert len(reached) == 1, "the name is looked up once per connection"
    assert site.asked == []


async def test_the_socket_itself_refuses_a_private_address(site: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the checks before it had a gap."""
    for name in ("check_host", "check_resolved"):
        monkeypatch.setattr(f"handlers.http.client.{name}", lambda *_given, **_named: None)
    for url in (site.url(), f"http://name.example:{site.port}/", f"http://[::1]:{site.port}/"):
        with pytest.raises(AddressRefused):
            await HttpClient(None, PrivateHosts(), _names).send(url)
    assert site.asked == []


@asynccontextmanager
async def outside(port: int) -> AsyncIterator[list[bytes]]:
    """A server on 127.0.0.2."""
    reached: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\noutside")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.2", port):
        yield reached


async def _endless(request: web.BaseRequest) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await answer.prepare(request)
    while True:
        await answer.write(b"x" * 65_536)


async def _endless_gzip(request: web.BaseRequest) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})
    await answer.prepare(request)
    stream = zlib.compressobj(wbits=31)
    while True:
        await answer.write(stream.compress(bytes(100_000)) + stream.flush(zlib.Z_SYNC_FLUSH))
        await asyncio.sleep(0)


async def _drip(request: web.BaseRequest) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    while True:
        await answer.write(b"x")
        await asyncio.sleep(0.01)


BODIES: dict[str, Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]] = {
    "endless": _endless,
    "endless gzip": _endless_gzip,
    "drip": _drip,
}


@pytest.mark.parametrize("name", BODIES)
async def test_endless_bodies_end(site: Website, name: str) -> None:
    site.pages["/page"] = BODIES[name]
    request = Request(most_bytes=300_000, seconds=1.0 if name == "drip" else 20.0, cut=True)
    if name == "drip":
        with pytest.raises(HttpFailed, match="did not answer within 1 s"):
            await allowed(site).send(site.url(), request)
    else:
        found = await allowed(site).send(site.url(), request)
        assert (len(found.body), found.cut) == (300_000, True)


async def test_a_compressed_bomb_is_bounded(site: Website) -> None:
    bomb = gzip.compress(bytes(20_000_000))
    site.pages["/page"] = web.Response(body=bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(HttpFailed, match="sent more than 2,000,000 bytes"):
        await allowed(site).send(site.url())
    site.pages["/page"] = web.Response(body=gzip.compress(bomb), headers={"Content-Encoding": "gzip, gzip"})
    with pytest.raises(HttpFailed, match="not asked for"):
        await allowed(site).send(site.url())


HEADS = {
    "a long header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "a long status": b"HTTP/1.1 200 " + b"x" * 100_000,
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "interim answers": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000,
    "a chunk of no length": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "nothing": b"",
}


@pytest.mark.parametrize("name", HEADS)
async def test_malformed_answers_are_refused(name: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEADS[name])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(HttpFailed):
            await HttpClient.guarded(None, PrivateHosts.parse(host)).send(f"http://{host}/", Request(seconds=5))


async def test_markup_that_never_ends_being_parsed_is_stopped() -> None:
    """Checking the attributes of one tag takes libxml2 quadratic time."""
    attributes = b"<html><body><p " + b"".join(b"a%d=b " % number for number in range(200_000)) + b">Hello</p>"
    with pytest.raises(WorkerFailed):
        await WorkerProcess().run({"kind": "html"}, attributes, seconds=1)


async def test_a_page_that_is_too_complex_is_shown_as_plain_text(
    site: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.tools.web.pages.READ_SECONDS", 1)
    attributes = " ".join(f"a{number}=b" for number in range(100_000))
    site.pages["/page"] = f"<script>bad()</script><p {attributes}>Hello &amp; goodbye</p>"
    settings = WebSettings(private_hosts=PrivateHosts.parse(site.host))
    told = await PageTools(lambda: settings, WorkerProcess()).fetch_page(scope(), site.url())
    assert told.endswith("Hello & goodbye")
    assert "unusually complex" in told
    assert "bad()" not in told


@pytest.mark.parametrize(
    "unit",
    ["<", "<a", "<script>", "<script></script", "<style><script>", "&", "&#1;", "<>", "x ", "\n", ">", "</", "<p>x"],
)
def test_plain_text_is_taken_in_linear_time(unit: str) -> None:
    assert superlinear(lambda size: _without_tags(unit * size * 8)) == ""
