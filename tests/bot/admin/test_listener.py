"""The listener: addresses, limits and headers that hold for every page."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from bot.admin import listener as module
from bot.admin.listener import MAX_CONNECTIONS, Listener
from bot.admin.middleware import HEADERS, MAX_BODY_BYTES
from bot.admin.token import admin_token, is_token
from bot.cli import new_event_loop
from bot.config.environment import load
from bot.config.workspace import Workspace
from routing.errors import ConfigError
from storage.state import SqlState
from tests.bot.admin.conftest import Served, serving


async def test_health_needs_no_token_and_head_works(served: Served) -> None:
    got, head = await served.http.get("/healthz"), await served.http.head("/healthz")
    assert (got.status_code, got.json()) == (200, {"status": "ok"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


def test_the_event_loop_of_the_bot_serves_requests(in_memory: Path) -> None:
    async def requests() -> None:
        async with serving(in_memory / "workspace") as served:
            answers = await asyncio.gather(*(served.http.get("/healthz") for _ in range(5)))
            assert [each.status_code for each in answers] == [200] * 5
            assert (await served.http.post("/healthz", content=bytes(10 * 2**20))).status_code == 413

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(requests())


@pytest.mark.parametrize("path", ["/nothing", "/healthz/", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"])
async def test_other_paths_are_not_found(served: Served, path: str) -> None:
    assert (await served.http.get(path)).status_code == 404


@pytest.mark.parametrize(("method", "path"), [("GET", "/healthz"), ("GET", "/nothing"), ("POST", "/healthz")])
async def test_every_answer_has_the_security_headers(served: Served, method: str, path: str) -> None:
    answer = await served.http.request(method, path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8787",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "",
        "[::1].evil.example",
        "1@evil:1",
    ],
)
async def test_a_host_of_another_site_is_refused_on_the_loopback(served: Served, host: str) -> None:
    refused = await served.http.get("/healthz", headers={"Host": host})
    assert refused.status_code == 421
    assert "A reverse proxy needs its name in ADMIN_URL." in refused.text


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8787", "LOCALHOST:8787"])
async def test_a_host_of_this_machine_is_accepted(served: Served, host: str) -> None:
    assert (await served.http.get("/healthz", headers={"Host": host})).status_code == 200


async def test_on_another_address_any_host_is_accepted(served: Served) -> None:
    async with Listener(0, replace(served.services, host="0.0.0.0")) as everywhere:
        address = f"http://127.0.0.1:{everywhere.port}/healthz"
        assert (await served.http.get(address, headers={"Host": "tierbot:8787"})).status_code == 200


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 10 * 2**20])
async def test_a_large_body_is_refused(served: Served, size: int) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(0, size, 2**20):
            yield bytes(2**20)
        yield b"x"

    refused = await served.http.post("/healthz", content=bytes(size))
    assert (refused.status_code, refused.text) == (413, "The request is larger than 1 MB. Nothing was changed.")
    assert (await served.http.post("/healthz", content=parts())).status_code == 413
    assert (await served.http.post("/healthz", content=bytes(MAX_BODY_BYTES))).status_code == 405


async def test_nonsense_gets_an_error_and_no_log_line(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.listener.port)
    writer.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 400")
    writer.close()
    assert not caplog.records


async def test_endless_headers_are_refused(served: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.listener.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000)
    with suppress(ConnectionResetError):
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
    writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HT",
        b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HT",
    ],
    ids=["nothing", "headers", "body", "second request"],
)
async def test_a_client_that_is_too_slow_is_disconnected(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.listener.port)
    writer.write(sent)
    with suppress(ConnectionResetError):
        await reader.read()
    writer.close()


async def test_too_many_connections_are_closed_and_others_go_on(served: Served) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", served.listener.port) for _ in range(MAX_CONNECTIONS)]
    reader, writer = await asyncio.open_connection("127.0.0.1", served.listener.port)
    with suppress(ConnectionResetError):
        assert not await reader.read()
    for _, each in [*opened, (reader, writer)]:
        each.close()
    assert (await served.http.get("/healthz")).status_code == 200


async def test_an_address_in_use_is_a_warning(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    async with Listener(served.listener.port, served.services):
        (line,) = (record for record in caplog.records if record.levelno == logging.WARNING)
        assert f"127.0.0.1:{served.listener.port} can't be used (Address already in use)" in line.getMessage()
    assert (await served.http.get("/healthz")).status_code == 200


async def test_connections_end_with_the_listener(served: Served) -> None:
    async with Listener(0, served.services) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", listener.port))
    with suppress(ConnectionResetError):
        assert not await reader.read()
    writer.close()


def test_the_token_is_generated_once_and_only_for_this_user(tmp_path: Path) -> None:
    hidden: list[str] = []
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}), hidden.extend)
    token = admin_token(workspace)
    assert len(token) >= 32
    assert (admin_token(workspace), hidden) == (token, [token, token])
    assert workspace.admin_token.stat().st_mode & 0o777 == 0o600
    workspace.admin_token.write_text("")
    assert admin_token(workspace) not in ("", token)
    set_here = Workspace(load({"WORKSPACE": str(tmp_path), "ADMIN_TOKEN": "a" * 16}))
    assert admin_token(set_here) == "a" * 16


def test_tokens_are_compared() -> None:
    assert is_token("grün" * 4, "grün" * 4)
    assert not is_token("", "a" * 16)
    assert not is_token("a" * 15, "a" * 16)


@pytest.mark.parametrize("address", ["8787", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999", "on", "127.0.0.1:٨"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=r"^ADMIN_ADDRESS must look like 127\.0\.0\.1:8787, or be off\.$"):
        load({"WORKSPACE": str(tmp_path), "ADMIN_ADDRESS": address})


def test_addresses(tmp_path: Path) -> None:
    def admin(address: str) -> object:
        return load({"WORKSPACE": str(tmp_path), "ADMIN_ADDRESS": address}).settings.admin

    assert admin("") == ("127.0.0.1", 8787)
    assert admin("off") is None
    assert admin(":80") == ("127.0.0.1", 80)
    assert admin("[::1]:80") == ("::1", 80)


def test_a_short_token_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^ADMIN_TOKEN must have at least 16 characters\.$"):
        load({"WORKSPACE": str(tmp_path), "ADMIN_TOKEN": "short-secret"})


async def test_requests_end_before_what_they_use_is_closed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def put(_state: SqlState, _key: str, _value: str) -> None:
        asked.set()
        await go.wait()
        ended.set()

    monkeypatch.setattr(SqlState, "put", put)
    async with Listener(0, served.services) as listener:
        request = asyncio.create_task(served.http.get(f"http://127.0.0.1:{listener.port}/readyz"))
        await asked.wait()
        asyncio.get_running_loop().call_soon(go.set)
    assert ended.is_set()
    with pytest.raises(httpx.TransportError):
        await request
