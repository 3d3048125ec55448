"""The way of git in the sandbox, which has no network and no password, to one repository on a server.

git speaks to a Unix socket of the bot. The bot speaks to the server, adds the login, and lets nothing else through:
not another repository, not a push that the person did not confirm. Whatever a hostile repository makes git do in the
sandbox, it finds no password there and reaches no other address."""

from __future__ import annotations

import asyncio
import re
import socket
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from handlers.tools.git.remote import Login, Push, Remote
from routing.errors import ToolFailed

CONNECT_SECONDS, SILENT_SECONDS = 15.0, 120.0
"""Time limits for connecting, and for a server that sends nothing."""
MAX_REQUEST_BYTES = 16 * 2**20
"""What git sends to fetch: the names of commits."""
MAX_COMMAND_BYTES = 100_000
MAX_REFS_BYTES = 64 * 2**20
"""The server's list of branches and tags, which git keeps in memory."""
MAX_REDIRECTS = 5
_CHUNK = 65536
_SENT = ("Accept", "Content-Type", "Git-Protocol", "User-Agent")
_FETCH, _PUSH = "git-upload-pack", "git-receive-pack"
_COMMAND = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([^\0\n]+)")


@dataclass(frozen=True, slots=True)
class Route:
    """Where the gateway leads: `addresses` are the checked IP addresses of the remote's host. Without `push` it only
    reads. The server may send `max_bytes`."""

    remote: Remote
    addresses: Sequence[str]
    login: Login | None
    push: Push | None
    max_bytes: int

    @property
    def services(self) -> tuple[str, ...]:
        return (_FETCH, _PUSH) if self.push else (_FETCH,)


class _Reader(Protocol):
    async def readexactly(self, n: int, /) -> bytes: ...


@asynccontextmanager
async def opened(route: Route) -> AsyncIterator[tuple[Path, list[str]]]:
    """The Unix socket, and the problems that the gateway met, in words for the model."""
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="tierbot-git-")
    try:
        path, problems = Path(folder.name, "socket"), list[str]()
        serve = _daemon if route.remote.scheme == "git" else _http
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
            for service in (_PUSH, _FETCH):
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
        raise ToolFailed("git asked for something else than this repository, which is not allowed.")

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
        if service == _FETCH:
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
                    raise ToolFailed("The repository is larger than the person's folder may be. Clone with depth 1.")
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


async def read_commands(reader: _Reader, push: Push) -> bytes:
    """The packet lines of a push up to the first flush packet. Raises ToolFailed for another change than `push`."""
    read = bytearray()
    while True:
        length, line = await _packet(reader)
        read += length + line
        if not line and length == b"0000":
            return bytes(read)
        if len(read) > MAX_COMMAND_BYTES:
            raise ToolFailed("git's request is too large.")
        command = _COMMAND.match(line)
        if line.startswith(b"shallow "):
            continue
        if command is None or command.groups()[1:] != (push.commit.encode(), push.ref.encode()):
            raise ToolFailed("git tried to push something else than was confirmed. Nothing was pushed.")
        if b"push-options" in line.partition(b"\0")[2].split():  # orders to the server, such as to merge
            raise ToolFailed("git tried to give the server an order besides the push. Nothing was pushed.")
        if command[1].strip(b"0") != push.base.encode().strip(b"0"):  # the server refuses one that is not current
            raise ToolFailed(
                "The branch on the server is not as it was when this folder last saw it. Nothing was pushed: use "
                "git_pull, then ask again."
            )


async def _packet(reader: _Reader) -> tuple[bytes, bytes]:
    """The length and the content of a packet line (gitprotocol-common)."""
    length = await reader.readexactly(4)
    try:
        size = int(length, 16)
    except ValueError:
        raise ToolFailed("git sent an invalid request.") from None
    return length, await reader.readexactly(size - 4) if size > 4 else b""


@asynccontextmanager
async def _daemon(route: Route, path: Path, problems: list[str]) -> AsyncIterator[None]:
    """The gateway to a git daemon, which knows no logins."""

    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _with_daemon(route, reader, writer)
            writer.close()
            await writer.wait_closed()
        except ToolFailed as error:
            problems.append(str(error))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            problems.append(f"{route.remote.host} can't be reached, or stopped in the middle. Try again later.")
        finally:
            writer.transport.abort()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(connected(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_unix_server(accept, path)
    try:
        yield
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _with_daemon(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    _, line = await _packet(reader)
    words, *more = line.split(b"\0")
    service, _, wanted = words.rstrip(b"\n").decode(errors="replace").partition(" ")
    if service not in route.services or wanted != unquote(route.remote.path):
        raise ToolFailed("git asked for something else than this repository, which is not allowed.")
    async with asyncio.timeout(CONNECT_SECONDS):
        there, server = await asyncio.open_connection(route.addresses[0], route.remote.port)
    try:
        version = b"\0version=2\0" if b"version=2" in more else b""
        asked = words + b"\0host=" + route.remote.host.encode() + b"\0" + version
        server.write(b"%04x" % (len(asked) + 4) + asked)

        async def send() -> None:
            if service == _PUSH:
                assert route.push is not None
                server.write(await read_commands(reader, route.push))
            await _copied(reader, server, MAX_REQUEST_BYTES if service == _FETCH else route.max_bytes)
            server.write_eof()

        sending, receiving = (asyncio.create_task(each) for each in (send(), _copied(there, writer, route.max_bytes)))
        try:
            done, _ = await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
            if sending in done:
                sending.result()
            await receiving
        finally:
            sending.cancel()
            receiving.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)
    finally:
        server.transport.abort()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int) -> None:
    async with asyncio.timeout(None) as silence:
        while True:
            silence.reschedule(asyncio.get_running_loop().time() + SILENT_SECONDS)
            chunk = await reader.read(_CHUNK)
            if not chunk:
                break
            most -= len(chunk)
            if most < 0:
                raise ToolFailed("The repository is larger than the person's folder may be. Clone with depth 1.")
            writer.write(chunk)
            await writer.drain()
