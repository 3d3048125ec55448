"""`/connect git`: the login is tested with a real server, and used only there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.tools.git.account import kind
from routing.errors import Refused
from routing.types.people import Person
from tests.handlers.tools.git.logins import here
from tests.servers.git import GitServer, bare_repository, git_server

pytestmark = pytest.mark.system
ADA = Person(7, "user", "Ada")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    (tmp_path / "srv").mkdir()
    bare_repository(tmp_path / "srv")
    async with git_server(tmp_path / "srv", ("ada", "token")) as running:
        yield running


async def test_the_login_is_tested_with_a_repository(server: GitServer) -> None:
    tested = await kind(here).test(ADA, {"address": f"{server.root}/notes.git", "user": "ada"}, "token")
    assert tested.label == f"ada · {server.root}"
    assert tested.details == {"origin": server.root, "user": "ada"}


async def test_what_is_wrong_is_said(server: GitServer) -> None:
    async def failure(name: str = "notes.git", secret: str = "token") -> ServiceFailed:
        with pytest.raises(ServiceFailed) as failed:
            await kind(here).test(ADA, {"address": f"{server.root}/{name}", "user": "ada"}, secret)
        return failed.value

    wrong = await failure(secret="wrong")
    assert (str(wrong), wrong.again) == ("127.0.0.1 refuses this user name and token", "secret")
    assert "has no such repository" in str(await failure("none.git"))

    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="hello")

    server.answer = page
    assert "has no such repository" in str(await failure())

    async def away(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("http://localhost/")

    server.answer = away
    assert "answers with the error 302" in str(await failure())

    async def aborted(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    server.answer = aborted
    assert "does not answer" in str(await failure())
    with pytest.raises(ServiceFailed, match="private network"):
        await kind(lambda _: Reachable()).test(ADA, {"address": f"{server.root}/notes.git", "user": "ada"}, "token")


async def test_a_token_that_may_only_read(server: GitServer) -> None:
    async def read_only(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=403) if "receive-pack" in request.path_qs else None

    server.answer = read_only
    assert await kind(here).test(ADA, {"address": f"{server.root}/notes.git", "user": "ada"}, "token")


@pytest.mark.parametrize("text", ["git@github.com:ann/notes.git", "notes", "git://example.com/a", "https://github.com"])
def test_only_addresses_of_repositories_are_taken(text: str) -> None:
    address, user = kind(here).fields
    with pytest.raises(Refused):
        address.read(text)
    assert address.read(" <https://github.com/ann/notes.git> ") == "https://github.com/ann/notes.git"
    with pytest.raises(Refused):
        user.read("a:b")
