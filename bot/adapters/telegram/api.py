"""The Bot API: python-telegram-bot's Bot with two connection pools, and errors that keep the HTTP status.

Besides the library's errors it raises TooMany, a TelegramError, for a 429 with `seconds` to wait, and ServerError, a
NetworkError, for a 5xx with its `code`: after a gateway timeout the call may have been carried out.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import ssl
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import aiohttp
import httpx
from telegram import Bot, InputFile
from telegram.error import BadRequest, NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, RequestData
from yarl import URL

from bot.adapters.shared.descriptor import secret
from bot.adapters.telegram.settings import Pace, TelegramSettings
from routing.errors import ConfigError

Json = dict[str, Any]
UPDATES = ("message", "edited_message", "callback_query", "my_chat_member", "message_reaction")
_SLACK = 10.0  # seconds that the response to a long poll may be late
_DEFAULT_RETRY = 5.0  # wait in seconds after a 429 without a time
_UPLOAD = 60.0  # extra seconds for a file
_POOL = 64  # connections
_KEEPALIVE = 30.0  # seconds; with httpx's default of 5, nearly every reply would need a new handshake

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class TooMany(TelegramError):
    """Flood control: the call was not carried out; wait `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Too Many Requests: retry after {seconds:g}")
        self.seconds = seconds


class ServerError(NetworkError):
    """The server, or a gateway before it, answered with a 5xx."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the server answered {code}")
        self.code = code


class Request(BaseRequest):
    """Calls through aiohttp, with a third of the CPU of the library's own client; `answer` and `connect` are timeouts
    in seconds. `note` is called with the headers of each response. Errors keep the HTTP status.

    Raises ConfigError for a proxy that can't be used.
    """

    def __init__(
        self,
        answer: float,
        connect: float,
        proxy: str | None = None,
        verify: ssl.SSLContext | bool = True,
        note: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        self._answer = answer
        self._connect = connect
        self._proxy = _checked(proxy)
        self._verify = verify
        self._note = note
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @property
    def read_timeout(self) -> float:
        return self._answer

    async def initialize(self) -> None:
        self._closed = False

    async def shutdown(self) -> None:
        session, self._session, self._closed = self._session, None, True
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        """The session, which needs a running event loop. Raises NetworkError after `shutdown`."""
        if self._closed:
            raise NetworkError("the connections are closed")
        if self._session is None:
            socks = self._proxy is not None and self._proxy.startswith("socks")
            options: Json = {"limit": _POOL, "keepalive_timeout": _KEEPALIVE, "ssl": self._verify}
            connector = _socks_connector(self._proxy, options) if socks else aiohttp.TCPConnector(**options)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), proxy=None if socks else self._proxy
            )
        return self._session

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        answer = read_timeout if isinstance(read_timeout, float | int) else self._answer
        is_file = method == "GET" or bool(request_data and request_data.contains_files)
        timeout = aiohttp.ClientTimeout(answer + self._connect + _UPLOAD * is_file, connect=self._connect)
        body = None if request_data is None else _body(request_data)
        headers = _FORM if isinstance(body, bytes) else None
        try:
            call = self._opened().request(
                method, url, data=body, headers=headers, timeout=timeout, allow_redirects=False
            )
            async with call as response:
                code, content = response.status, await response.read()
        except TimeoutError as error:
            raise TimedOut from error
        except (aiohttp.ClientError, OSError) as error:
            raise NetworkError(type(error).__name__) from error
        if self._note is not None:
            self._note(response.headers)
        if code == 413:  # from a proxy before a local server; repeating the call would not help
            raise BadRequest("the file is too large for the server")
        if code == 429:
            raise TooMany(_retry_after(content))
        if code >= 500:
            raise ServerError(code)
        return code, content

    @staticmethod
    def parse_json_payload(payload: bytes) -> Json:
        """Parse a response. The library raises KeyError for JSON that is not from the Bot API."""
        data: Json = BaseRequest.parse_json_payload(payload)
        if not isinstance(data, dict) or not ("result" in data or "description" in data):
            raise TelegramError("Invalid server response")
        return data


class Api(Bot):
    """One bot. Polling uses separate connections, so that a long poll never delays a reply."""

    __slots__ = ("_calls", "_polls")

    def __init__(self, settings: TelegramSettings, pace: Pace) -> None:
        silence_loggers()
        root = settings.telegram_api_root.rstrip("/")
        # Loading the certificates takes 20 to 60 ms: done once for both pools, and not at all for plain HTTP.
        verify = httpx.create_ssl_context() if root.startswith("https") else False
        proxy = settings.telegram_proxy_used()
        self._polls = Request(pace.answer, pace.connect, proxy, verify)
        self._calls = Request(pace.answer, pace.connect, proxy, verify)
        super().__init__(
            secret(settings.telegram_bot_token), f"{root}/bot", f"{root}/file/bot", self._calls, self._polls
        )

    async def call(self, method: str, data: Json) -> Any:
        """Call a method and return its plain result. The library's own methods build objects and take five times as
        long."""
        return await self._post(method, data)

    async def poll(self, offset: int | None, seconds: int) -> list[Json]:
        """Fetch unparsed updates, so that one the library can't parse does not hide the others."""
        data: Json = {"timeout": seconds, "allowed_updates": UPDATES}
        if offset is not None:
            data["offset"] = offset
        updates: list[Json] = await self._post("getUpdates", data, read_timeout=seconds + _SLACK)
        return updates

    async def renew_polling(self) -> None:
        """Replace the polling connections. Closing a dead one may hang, so it gets two seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await self._polls.shutdown()
        await self._polls.initialize()

    async def disconnect(self) -> None:
        """Close all connections."""
        await asyncio.gather(self._polls.shutdown(), self._calls.shutdown(), return_exceptions=True)


def upload(name: str, data: bytes) -> InputFile:
    """A file as a parameter of `call`. The first call may read the system's MIME types, so run it in a thread."""
    return InputFile(data, filename=name)


def silence_loggers() -> None:
    """Keep the token out of the log: these loggers write full URLs at INFO or DEBUG."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("telegram").setLevel(logging.ERROR)


def _checked(proxy: str | None) -> str | None:
    """The proxy's URL. Raises ConfigError if it can't be used."""
    if not proxy:
        return None
    try:
        url = URL(proxy)
    except ValueError:
        url = URL()
    socks = url.scheme in ("socks4", "socks5") and url.port and find_spec("aiohttp_socks")
    if url.host and (url.scheme in ("http", "https") or socks):
        return str(url)
    raise ConfigError(
        "TELEGRAM_PROXY cannot be used; write http://host:port (socks5:// needs the package aiohttp-socks)."
    )


def _socks_connector(proxy: str | None, options: Json) -> aiohttp.BaseConnector:
    library = importlib.import_module("aiohttp_socks")
    connector: aiohttp.BaseConnector = library.ProxyConnector.from_url(proxy, **options)
    return connector


def _body(data: RequestData) -> bytes | aiohttp.FormData:
    """The body of a request: a plain form, or with files a multipart one."""
    if not data.contains_files:
        return data.url_encoded_parameters().encode()  # aiohttp would build a multipart form first
    form = aiohttp.FormData(quote_fields=False)  # Telegram shows file names as they are
    for name, value in data.json_parameters.items():
        form.add_field(name, value)
    for name, (filename, content, mime_type) in data.multipart_data.items():
        form.add_field(name, content, filename=filename, content_type=mime_type)
    return form


def _retry_after(body: bytes) -> float:
    try:
        return max(float(json.loads(body)["parameters"]["retry_after"]), 0.0)
    except (ValueError, LookupError, TypeError):
        return _DEFAULT_RETRY
