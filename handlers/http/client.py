"""An HTTP client for tools, with limits on bytes, time, headers and redirects.

`HttpClient.guarded` is for addresses that come from a person, a model or a page: only public addresses are reached. The
address that was checked is the one connected to, so a name that resolves differently the second time gains nothing.
Each redirect is checked like the first address. With a proxy, the proxy resolves the names: then only what the address
itself shows can be checked.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from email.message import Message
from functools import partial
from http import HTTPStatus
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from handlers.http.addresses import (
    MAX_URL_CHARACTERS,
    AddressRefused,
    PrivateHosts,
    check_host,
    check_resolved,
    is_public,
    not_public,
)
from routing.errors import ToolFailed

MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
USER_AGENT = "Mozilla/5.0 (compatible; tierbot)"
_CHUNK = 65_536
_STEP = 262_144
"""Decompressed bytes after which other tasks get a turn."""
_REDIRECTS = (301, 302, 303, 307, 308)
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\\]")
_FIELD_BYTES = 8_190

_NOT_FOUND, _BROKEN = "was not found: there is no such host, or no network", "broke the connection"
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientProxyConnectionError, "was not reached: the proxy does not answer"),
    (aiohttp.ClientConnectorCertificateError, "has no valid certificate"),
    (aiohttp.ClientConnectorSSLError, "does not speak https"),
    (aiohttp.ClientConnectorDNSError, _NOT_FOUND),
    (aiohttp.ServerTimeoutError, f"did not accept a connection within {CONNECT_SECONDS:g} s"),
    (aiohttp.ClientConnectorError, "refuses connections"),
    (aiohttp.ClientResponseError, "sent an answer that is not valid HTTP"),
    (zlib.error, "sent damaged compressed data"),
)
"""The first that fits is said; the server's own words are not."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Lookup = Callable[[str, int], Awaitable[list[str]]]


class _NotPublic(OSError):
    """Ends the attempt to connect; aiohttp expects no other errors there."""


class HttpFailed(ToolFailed):
    """No usable answer. `reason` is a clause such as "did not answer within 20 s"; `status` is 0 without an answer."""

    def __init__(self, host: str, reason: str, status: int = 0) -> None:
        super().__init__(f"{host[:100]} {reason}.")
        self.reason = reason
        self.status = status


@dataclass(frozen=True, slots=True)
class Response:
    """`url` is the last one after redirects. `cut`: the body was longer than allowed, this is its beginning."""

    url: str
    media_type: str
    charset: str
    body: bytes
    cut: bool = False

    def json(self) -> Any:
        """The body as JSON. Raises ValueError, also if it is nested too deeply."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


@dataclass(frozen=True, slots=True)
class Request:
    """`longest` says what happens to a body of more than `most_bytes`: it is cut, or HttpFailed is raised."""

    method: str = "GET"
    headers: Mapping[str, str] | None = None
    params: Mapping[str, str] | None = None
    body: object = None
    seconds: float = 20.0
    most_bytes: int = 2_000_000
    cut: bool = False


class HttpClient:
    """Sends requests. `proxy` is for https only, like HTTPS_PROXY. Without `private` every address is reached: this is
    for services that the owner configured; they are not redirected, so that keys stay with them."""

    def __init__(
        self,
        proxy: str | None = None,
        private: PrivateHosts | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        self._proxy = proxy
        self._private = private
        self._lookup = lookup or _lookup

    @classmethod
    def guarded(cls, proxy: str | None = None, private: PrivateHosts | None = None) -> HttpClient:
        """A client that reaches only public addresses, and private ones that the owner named."""
        return cls(proxy, private or PrivateHosts())

    async def send(self, url: str, request: Request | None = None) -> Response:
        """Send a request and read the answer. Raises HttpFailed, also for an error status, and AddressRefused."""
        request = request or Request()
        target = parse_url(url) if self._private is not None else URL(url)
        try:
            async with asyncio.timeout(request.seconds):
                for _ in range(MAX_REDIRECTS + 1):
                    found = await self._hop(target, request)
                    if isinstance(found, Response):
                        return found
                    target, request = found, _redirected(request, found.origin() == target.origin())
        except TimeoutError:
            raise HttpFailed(_host(target), f"did not answer within {request.seconds:g} s") from None
        raise HttpFailed(_host(target), f"redirects more than {MAX_REDIRECTS} times")

    async def _hop(self, url: URL, request: Request) -> Response | URL:
        """One request: its answer, or where it redirects to."""
        host, proxy = _host(url), self._proxy if url.scheme == "https" else None
        if self._private is None and host in _LOOPBACK:
            proxy = None
        if self._private is not None:
            check_host(host, url.port or 0, self._private, resolved_here=proxy is None)
            if proxy is not None:
                await self._check_before_proxy(host, url.port or 0, self._private)
        if proxy is not None and not proxy.startswith(("http://", "https://")):
            raise HttpFailed(host, "can't be reached: HTTPS_PROXY has to begin with http:// or https://")
        try:
            async with (
                aiohttp.ClientSession(
                    connector=self._connector(url, proxied=proxy is not None),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                    auto_decompress=False,
                    max_line_size=_FIELD_BYTES,
                    max_field_size=_FIELD_BYTES,
                ) as session,
                session.request(
                    request.method,
                    url,
                    params=request.params,
                    json=request.body,
                    headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate", **(request.headers or {})},
                    allow_redirects=False,
                    proxy=proxy,
                ) as answer,
            ):
                if self._private is not None and answer.status in _REDIRECTS and "Location" in answer.headers:
                    return parse_url(answer.headers["Location"], base=url)
                if not 200 <= answer.status <= 299:
                    raise HttpFailed(host, f"answered {_status(answer.status)}", answer.status)
                body, cut = await _read(answer, host, request.most_bytes)
        except (aiohttp.ClientError, OSError, ValueError, zlib.error) as error:
            raise _failure(host, error) from None
        if cut and not request.cut:
            raise HttpFailed(host, f"sent more than {request.most_bytes:,} bytes")
        return Response(str(url), *_content_type(answer.headers.get("Content-Type", "")), body, cut)

    async def _check_before_proxy(self, host: str, port: int, private: PrivateHosts) -> None:
        """The proxy may find another address. Where only the proxy resolves names, nothing more can be checked."""
        if not private.names(host, port):
            with suppress(OSError):
                check_resolved(host, await self._lookup(host, port), private)

    def _connector(self, url: URL, proxied: bool) -> aiohttp.TCPConnector:
        """A connector for one connection. The guard is in two places: at the resolver, and where the socket is created,
        which also sees addresses that need no resolver."""
        options: dict[str, Any] = {"use_dns_cache": False, "force_close": True, "limit": 1}
        if self._private is None or proxied:
            return aiohttp.TCPConnector(**options)
        private = self._private
        if private.names(_host(url), url.port or 0):
            return aiohttp.TCPConnector(resolver=_Resolver(self._lookup, None), **options)
        return aiohttp.TCPConnector(
            resolver=_Resolver(self._lookup, private), socket_factory=partial(_guarded_socket, private), **options
        )


class _Resolver(AbstractResolver):
    """Resolves a name once per connection. With `private`, refuses a name if any of its addresses is not allowed."""

    def __init__(self, lookup: Lookup, private: PrivateHosts | None) -> None:
        self._lookup = lookup
        self._private = private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._lookup(host, port)
        if self._private is not None:
            check_resolved(host, found, self._private)
        return [
            ResolveResult(
                hostname=host,
                host=each,
                port=port,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for each in found
        ]

    async def close(self) -> None:
        pass


async def _lookup(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _guarded_socket(private: PrivateHosts, info: tuple[Any, ...]) -> socket.socket:
    """A socket for exactly this address, if it may be connected to."""
    family, kind, protocol, _, address = info
    if not (is_public(address[0]) or private.contains(address[0])):
        raise _NotPublic
    return socket.socket(family=family, type=kind, proto=protocol)


def parse_url(text: str, base: URL | None = None) -> URL:
    """A web address as it will be connected to. One without a scheme gets https. Raises AddressRefused."""
    text = text.strip()
    if len(text) > MAX_URL_CHARACTERS:
        raise AddressRefused(f"The address has more than {MAX_URL_CHARACTERS:,} characters.")
    if base is None and ":" not in text.partition("/")[0]:
        text = f"https://{text.lstrip('/')}"
    try:
        if _UNUSABLE.search(text):
            raise ValueError
        url = URL(text) if base is None else base.join(URL(text))
        if url.scheme not in ("http", "https"):
            raise AddressRefused(
                f"Only addresses that begin with http:// or https:// can be fetched, not {url.scheme[:20]}:."
            )
        if url.user is not None or url.password is not None:
            raise AddressRefused("Addresses with a user name or a password are refused.")
        if not url.raw_host or "%" in url.raw_host or not url.port:
            raise ValueError
    except ValueError:
        raise AddressRefused(f"{text[:100]} is not a web address. Write it like https://example.com/page.") from None
    return url


def _redirected(request: Request, same_origin: bool) -> Request:
    """Only what says which formats are wanted goes to another server."""
    kept = {name: text for name, text in (request.headers or {}).items() if same_origin or name == "Accept"}
    return replace(request, method="GET", params=None, body=None, headers=kept)


async def _read(answer: aiohttp.ClientResponse, host: str, most: int) -> tuple[bytes, bool]:
    """The decompressed body, at most `most` bytes, and whether there was more."""
    encoding = answer.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise HttpFailed(host, f"sent its answer in the encoding {encoding[:20]!r}, which was not asked for")
    chunks = answer.content.iter_chunked(_CHUNK)
    found = bytearray()
    async for part in _inflated(chunks) if encoding not in ("", "identity") else chunks:
        found += part
        if len(found) > most:
            return bytes(found[:most]), True
    return bytes(found), False


async def _inflated(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Decompresses in small steps. Raises zlib.error."""
    inflate: Any = None
    async for chunk in chunks:
        if inflate is None:  # some servers send deflate without zlib's header
            raw = chunk[:1] not in (b"\x1f",) and (chunk[0] & 0x0F != 8 or int.from_bytes(chunk[:2], "big") % 31 != 0)
            inflate = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32)
        while chunk and not inflate.eof:
            yield inflate.decompress(chunk, _STEP)
            chunk = inflate.unconsumed_tail
            await asyncio.sleep(0)


def _failure(host: str, error: BaseException) -> ToolFailed:
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, _NotPublic):
        return not_public(host)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return HttpFailed(host, f"was refused by the proxy ({_status(error.status)})")
    if isinstance(cause, socket.gaierror):
        return HttpFailed(host, _NOT_FOUND)
    return HttpFailed(host, next((reason for kind, reason in _REASONS if isinstance(error, kind)), _BROKEN))


def _status(code: int) -> str:
    try:
        return f"{code} ({HTTPStatus(code).phrase})"
    except ValueError:
        return str(code)


def _content_type(header: str) -> tuple[str, str]:
    """Media type and charset, in lower case; empty if there is none."""
    message = Message()
    message["Content-Type"] = header[:200]
    charset = message.get_param("charset", "")
    return (message.get_content_type() if header else ""), charset.lower() if isinstance(charset, str) else ""


def _host(url: URL) -> str:
    return url.raw_host or ""
