"""The way of git in the sandbox, which has no network and no password, to one repository on a server.

git speaks to a Unix socket of the bot. The bot speaks to the server, adds the login, and lets nothing else through:
not another repository, not a push that the person did not confirm. Whatever a hostile repository makes git do in the
sandbox, it finds no password there and reaches no other address."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from handlers.tools.git.daemon import daemon
from handlers.tools.git.packets import MAX_REQUEST_BYTES, read_commands
from handlers.tools.git.remote import (
    CONNECT_SECONDS,
    FETCH,
    OTHER_REPOSITORY,
    PUSH,
    SILENT_SECONDS,
    TOO_LARGE,
    Login,
    Route,
)
from routing.errors import ToolFailed

MAX_REFS_BYTES = 64 * 2**20
"""The server's list of branches and tags, which git keeps in memory."""
MAX_REDIRECTS = 5
_SENT = ("Accept", "Content-Type", "Git-Protocol", "User-Agent")


@asynccontextmanager
async def opened(route: Route) -> AsyncIterator[tuple[Path, list[str]]]:
    """The Unix socket, and the problems that the gateway met, in words for the model."""
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="tierbot-git-")
    try:
        path, problems = Path(folder.name, "socket"), list[str]()
        serve = daemon if route.remote.scheme == "git" else _http
        async with serve(route, path, problems):
            yield path, problems
    finally:
        await asyncio.to_thread(folder.cleanup)


@asynccontextmanager
async def _http(route: Route, path: Path, problems: list[str]) -> AsyncIterator[None]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS)
    connector = aiohttp.TCPConnector(resolver=_Pinned(route.addresses), limit=8)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    ) as session:
        runner = web.ServerRunner(web.Server(_Http(route, session, problems).answer, access_log=None))
        await runner.setup()
        try:
            await web.UnixSite(runner, path).start()
            yield
        finally:
            await runner.cleanup()


class _Pinned(AbstractResolver):
    """Every name has the checked addresses, so that a second look-up can't give others."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass


async def check_login(route: Route) -> int:
    """The server's status for the login: 200 if it may push, or at least read; 0 if there is no answer."""
    timeout = aiohttp.ClientTimeout(total=2 * CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(resolver=_Pinned(route.addresses))
    status = 0
    try:
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            for service in (PUSH, FETCH):
                address = URL(f"{route.remote.url.rstrip('/')}/info/refs?service={service}", encoded=True)
                async with session.get(address, headers=_authorization(route.login), allow_redirects=False) as answer:
                    right = answer.content_type == f"application/x-{service}-advertisement"
                    status = answer.status if right or answer.status != 200 else 404
                if status != 403:
                    break
    except (aiohttp.ClientError, OSError, TimeoutError):
        return 0
    return status


def _authorization(login: Login | None) -> dict[str, str]:
    if login is None:
        return {}
    return {"Authorization": f"Basic {b64encode(f'{login.user}:{login.token}'.encode()).decode()}"}


class _Http:
    """Forwards the four requests of git's HTTP protocol. A repository that moved on its server is followed."""

    def __init__(self, route: Route, session: aiohttp.ClientSession, problems: list[str]) -> None:
        self._route = route
        self._session = session
        self._problems = problems
        self._remote = route.remote
        self._left = route.max_bytes

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._forwarded(request)
        except ToolFailed as error:
            return self._refused(str(error))
        except asyncio.IncompleteReadError:
            return self._refused("git sent an incomplete request.")
        except TimeoutError:
            return self._refused(f"{self._remote.host} did not answer in time. Try again later.")
        except aiohttp.ClientConnectorCertificateError:
            return self._refused(f"The certificate of {self._remote.host} is not valid, so it was not trusted.")
        except (aiohttp.ClientError, OSError) as error:
            return self._refused(f"{self._remote.host} can't be reached ({type(error).__name__}).")

    def _refused(self, problem: str) -> web.Response:
        self._problems.append(problem)
        return web.Response(status=403, text=problem)

    async def _forwarded(self, request: web.BaseRequest) -> web.StreamResponse:
        base = self._route.remote.path.rstrip("/")
        asked = request.rel_url.raw_path_qs
        for service in self._route.services:
            if request.method == "GET" and asked == f"{base}/info/refs?service={service}":
                return await self._refs(request, f"/info/refs?service={service}")
            if request.method == "POST" and asked == f"{base}/{service}":
                return await self._exchanged(request, service)
        raise ToolFailed(OTHER_REPOSITORY)

    async def _refs(self, request: web.BaseRequest, suffix: str) -> web.StreamResponse:
        for _ in range(MAX_REDIRECTS):
            async with self._session.get(
                self._address(suffix), headers=self._headers(request), allow_redirects=False
            ) as answer:
                if answer.status not in (301, 302, 303, 307, 308):
                    return await self._passed(request, answer, min(self._left, MAX_REFS_BYTES))
                self._remote = self._remote.moved(answer.headers.get("Location", ""), suffix)
        raise ToolFailed(f"{self._remote.host} redirects too often. Check the address.")

    async def _exchanged(self, request: web.BaseRequest, service: str) -> web.StreamResponse:
        headers = self._headers(request)
        body: bytes | AsyncIterator[bytes]
        if service == FETCH:
            body = await _whole(request.content)
        else:
            assert self._route.push is not None
            commands = await read_commands(request.content, self._route.push)
            body = _joined(commands, request.content)
            if request.content_length is not None:
                headers["Content-Length"] = str(request.content_length)
        async with self._session.post(
            self._address(f"/{service}"), data=body, headers=headers, allow_redirects=False
        ) as answer:
            return await self._passed(request, answer, self._left)

    def _address(self, suffix: str) -> URL:
        return URL(self._remote.url.rstrip("/") + suffix, encoded=True)

    def _headers(self, request: web.BaseRequest) -> dict[str, str]:
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        return headers | {"Accept-Encoding": "identity"} | _authorization(self._route.login)

    async def _passed(self, request: web.BaseRequest, answer: aiohttp.ClientResponse, most: int) -> web.StreamResponse:
        """Sends the server's answer to git, at most `most` bytes."""
        if answer.status != 200:
            raise ToolFailed(self._problem(answer.status))
        if not answer.content_type.startswith("application/x-git-"):
            raise ToolFailed(f"There is no git repository at {self._remote.url}: check the address.")
        response = web.StreamResponse(headers={"Content-Type": answer.content_type, "Cache-Control": "no-cache"})
        await response.prepare(request)
        try:
            async for chunk in answer.content.iter_any():
                self._left -= len(chunk)
                most -= len(chunk)
                if most < 0:
                    raise ToolFailed(TOO_LARGE)
                try:
                    await response.write(chunk)
                except ConnectionError:  # git has ended
                    break
        except (ToolFailed, aiohttp.ClientError, OSError, TimeoutError) as error:
            told = str(error) if isinstance(error, ToolFailed) else "The server stopped in the middle. Try again."
            self._problems.append(told)
            if request.transport is not None:
                request.transport.abort()
        return response

    def _problem(self, status: int) -> str:
        host, login = self._remote.host, self._route.login
        if status in (401, 403) and login:
            return (
                f"{host} refused the connected account: its token is wrong, has expired, or lacks the permission. "
                "The user can connect it again with /connect git."
            )
        if status in (401, 403, 404) and not login:
            return (
                f"{host} has no such repository, or it needs a login. The user can connect an account for {host} with "
                "/connect git."
            )
        if status == 404:
            return f"{host} has no such repository, or the connected account may not see it. Check the address."
        return f"{host} answered with the error {status}. Try again later."


async def _whole(content: aiohttp.StreamReader) -> bytes:
    parts, size = [], 0
    async for chunk in content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_REQUEST_BYTES:
            raise ToolFailed("git's request is too large.")
    return b"".join(parts)


async def _joined(first: bytes, rest: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest.iter_any():
        yield chunk
