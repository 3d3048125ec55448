"""Hostile addresses and servers against the git tools."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.tools.git.remote import Remote, parse_remote
from handlers.tools.git.tools import GitTools
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA
from tests.handlers.tools.git.logins import NOBODY, USER, FixedLogin, here, tools_for
from tests.handlers.tools.sandbox.test_sandbox import home, made
from tests.servers.git import HOST, Answer, GitServer, git_server

ADDRESSES = (
    "ext::sh -c touch% /tmp/owned",
    "https::ext::sh",
    "file:///etc",
    "/etc/passwd",
    "../8/notes",
    "ssh://git@example.com/a/b.git",
    "git@github.com:ann/notes.git",
    "ftp://example.com/a/b.git",
    "https://ann:secret@example.com/a/b.git",
    "https://ann@example.com/a/b.git",
    "https://example.com/a/b.git?x=1",
    "https://example.com/a/../b.git",
    "https://example.com/a b.git",
    "https://example.com/a\nb.git",
    "https://example.com",
    "https://example.com:99999/a.git",
    "--upload-pack=touch /tmp/owned",
    "-u",
    "",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_plain_https_addresses_are_used(address: str) -> None:
    with pytest.raises(ToolFailed):
        parse_remote(address)


def test_an_ssh_address_is_answered_with_the_https_one() -> None:
    for address in ("git@github.com:ann/notes.git", "ssh://git@github.com/ann/notes.git"):
        with pytest.raises(ToolFailed, match=r"such as https://github\.com/ann/notes\.git"):
            parse_remote(address)


def test_addresses_are_kept_as_they_are() -> None:
    remote = parse_remote("https://example.com:8443/ann/notes.git")
    assert remote == Remote("https", "example.com", 8443, "/ann/notes.git")
    assert (remote.url, remote.name) == ("https://example.com:8443/ann/notes.git", "notes")
    assert parse_remote("http://[::1]/a").url == "http://[::1]/a"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"),
        *("10.0.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "fd00::1", "fe80::1", "224.0.0.1", "64:ff9b::7f00:1"),
    ],
)
def test_private_addresses_are_refused(host: str) -> None:
    with pytest.raises(ServiceFailed):
        Reachable().addresses(host, 443, True)


def test_public_addresses_need_tls_and_private_ones_a_permission() -> None:
    assert Reachable().addresses("1.1.1.1", 443, True) == ["1.1.1.1"]
    with pytest.raises(ServiceFailed):
        Reachable(private=True).addresses("1.1.1.1", 80, False)
    assert Reachable(private=True).addresses("192.168.1.1", 80, False) == ["192.168.1.1"]
    assert Reachable(hosts=frozenset({"192.168.1.1"})).addresses("192.168.1.1", 9418, False) == ["192.168.1.1"]
    with pytest.raises(ServiceFailed):
        Reachable(private=True).addresses("169.254.169.254", 80, False)


@pytest.mark.system
async def test_a_redirect_gets_no_password(tmp_path: Path, server: GitServer) -> None:
    async with git_server(tmp_path / "srv") as other:
        elsewhere = other.root.replace(HOST, "localhost")

        async def redirect(request: web.Request) -> web.StreamResponse | None:
            if request.path.startswith("/moved.git"):
                raise web.HTTPFound(request.path_qs.replace("/moved.git", "/notes.git"))
            if request.path.startswith("/away.git"):
                raise web.HTTPFound(elsewhere + request.path_qs.replace("/away.git", "/notes.git"))
            if request.path.startswith("/loop.git"):
                raise web.HTTPFound(request.path_qs)
            if request.path.startswith("/cloud.git"):
                raise web.HTTPFound("http://169.254.169.254/latest/meta-data")
            return None

        server.answer = redirect
        tools = await tools_for(tmp_path, server)
        await tools.git_clone(ADA, f"{server.root}/moved.git")
        with pytest.raises(ToolFailed, match=f"has moved to {elsewhere}/notes.git: use that address"):
            await tools.git_clone(ADA, f"{server.root}/away.git")
        with pytest.raises(ToolFailed, match="redirects too often"):
            await tools.git_clone(ADA, f"{server.root}/loop.git")
        with pytest.raises(ToolFailed, match="not a repository"):
            await tools.git_clone(ADA, f"{server.root}/cloud.git")
        assert other.requests == []
        await tools.git_clone(ADA, f"{other.root}/notes.git", "other")
        assert [sent for _, sent in other.requests if sent] == [], "the login is for the other server"


@pytest.mark.system
async def test_logins_that_are_missing_or_wrong_are_explained(tmp_path: Path, server: GitServer) -> None:
    sandbox = await made(tmp_path)
    url = f"{server.root}/notes.git"
    with pytest.raises(ToolFailed, match=r"needs a login. The user can connect an account .* with /connect git"):
        await GitTools(sandbox, NOBODY, here).git_clone(ADA, url)
    with pytest.raises(ToolFailed, match="refused the connected account") as failure:
        await GitTools(sandbox, FixedLogin(server.root, USER, "wrong-token"), here).git_clone(ADA, url)
    assert "wrong-token" not in str(failure.value)
    assert not (home(tmp_path) / "notes").exists()
    with pytest.raises(ToolFailed, match="has no such repository"):
        await (await tools_for(tmp_path, server)).git_clone(ADA, f"{server.root}/none.git")


async def _garbage(_request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"\x00garbage" * 1000, content_type="application/x-git-upload-pack-advertisement")


async def _page(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def _broken(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=503)


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-advertisement"})
    await response.prepare(request)
    try:
        while True:
            await response.write(b"0004" * 65536)
    except (ConnectionError, aiohttp.ClientError):
        return response


async def _aborted(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.system
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_garbage, "protocol error"),
        (_page, "There is no git repository at"),
        (_broken, "answered with the error 503"),
        (_aborted, "can't be reached"),
        (_endless, "larger than the person's folder|git was stopped|protocol error"),
    ],
)
async def test_a_bad_server(tmp_path: Path, server: GitServer, answer: Answer, told: str) -> None:
    server.answer = answer
    tools = await tools_for(tmp_path, server)
    with pytest.raises(ToolFailed, match=told):
        await tools.git_clone(ADA, f"{server.root}/notes.git")
    assert not (home(tmp_path) / "notes").exists()


@pytest.mark.system
async def test_a_slow_server_and_one_that_is_down(
    tmp_path: Path, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = await tools_for(tmp_path, server)
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    monkeypatch.setattr("handlers.tools.git.gateway.SILENT_SECONDS", 0.2)
    never = asyncio.Event()

    async def slow(_request: web.Request) -> web.StreamResponse | None:
        await never.wait()
        return None

    server.answer = slow
    with pytest.raises(ToolFailed, match="did not answer in time"):
        await tools.git_pull(ADA)
    never.set()
    down = f"http://{HOST}:9/notes.git"
    with pytest.raises(ToolFailed, match="can't be reached"):
        await tools.git_clone(ADA, down, "down")
