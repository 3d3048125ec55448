"""The Bot API: python-telegram-bot's Bot with two connection pools and errors that keep the status.

TelegramError (the library's)
├── TooMany        429; `seconds` to wait
└── NetworkError
    └── ServerTrouble  5xx with its `code`: after a gateway time-out the call may have been carried out
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from typing import Any
from urllib.parse import urlsplit

import httpx
from telegram import Bot, InputFile
from telegram.error import BadRequest, NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, HTTPXRequest, RequestData

from bot.adapters.telegram.options import TelegramOptions
from routing.errors import ConfigError

Json = dict[str, Any]
UPDATES = ("message", "edited_message", "callback_query", "my_chat_member", "message_reaction")
_SLACK = 10.0  # seconds that a long poll's answer may come late
_UNSTATED = 5.0  # seconds to wait after a 429 that does not say how long
_TRANSFER = 60.0  # seconds more for a file
_POOL = 64  # connections
_KEEP = 30.0  # seconds; with httpx's 5 nearly every reply would begin with a handshake
LOOPBACK = ("localhost", "127.0.0.1", "::1")  # a Bot API server of one's own, not behind any proxy


class TooMany(TelegramError):
    """Flood control: nothing was done; wait `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Too Many Requests: retry after {seconds:g}")
        self.seconds = seconds


class ServerTrouble(NetworkError):
    """The server or a gateway before it answered with 5xx."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the server answered {code}")
        self.code = code


class Request(HTTPXRequest):
    """The library's HTTP client with a limit on the whole call, because its own time-outs start again with every byte,
    and with errors that keep the HTTP status."""

    def __init__(self, *, read_timeout: float, connect_timeout: float, **given: Any) -> None:
        super().__init__(read_timeout=read_timeout, connect_timeout=connect_timeout, **given)
        self._connecting = connect_timeout

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
        answer = read_timeout if isinstance(read_timeout, float | int) else self.read_timeout or 0.0
        is_file = method == "GET" or bool(request_data and request_data.contains_files)
        try:
            async with asyncio.timeout(answer + self._connecting + _TRANSFER * is_file):
                code, body = await super().do_request(
                    url, method, request_data, read_timeout, write_timeout, connect_timeout, pool_timeout
                )
        except TimeoutError as error:
            raise TimedOut from error
        if code == 413:  # a proxy before a local server; repeating the call would not help
            raise BadRequest("the file is too large for the server")
        if code == 429:
            raise TooMany(_retry_after(body))
        if code >= 500:
            raise ServerTrouble(code)
        return code, body

    @staticmethod
    def parse_json_payload(payload: bytes) -> Json:
        """The library raises KeyError for JSON that is not the Bot API's."""
        data: Json = HTTPXRequest.parse_json_payload(payload)
        if not isinstance(data, dict) or not ("result" in data or "description" in data):
            raise TelegramError("Invalid server response")
        return data


class Api(Bot):
    """One bot. Polling has its own connections, so a hanging poll never delays a reply."""

    __slots__ = ("_calls", "_polls")

    def __init__(self, options: TelegramOptions) -> None:
        quiet()
        root, pace = options.api_root.rstrip("/"), options.pace
        # Loading the certificates takes 20 to 60 ms: once for both pools, and not at all for plain HTTP.
        verify = httpx.create_ssl_context() if root.startswith("https") else False
        limits = httpx.Limits(max_connections=_POOL, keepalive_expiry=_KEEP)
        kwargs: Json = {"httpx_kwargs": {"verify": verify, "limits": limits, "trust_env": False}}
        if urlsplit(root).hostname not in LOOPBACK:
            kwargs["proxy"] = options.proxy
        for wait in ("connect_timeout", "write_timeout", "pool_timeout"):
            kwargs[wait] = pace.connect
        try:
            self._polls = Request(read_timeout=pace.answer, **kwargs)
            self._calls = Request(read_timeout=pace.answer, **kwargs)
        except (RuntimeError, ValueError, httpx.InvalidURL):
            raise ConfigError(
                "TELEGRAM_PROXY cannot be used; write http://host:port (socks5:// needs the package socksio)."
            ) from None
        super().__init__(options.token, f"{root}/bot", f"{root}/file/bot", self._calls, self._polls)

    async def call(self, method: str, data: Json) -> Any:
        """The plain result of a method. The library's own methods build objects and take five times as long."""
        return await self._post(method, data)

    async def poll(self, offset: int | None, seconds: int) -> list[Json]:
        """Unparsed updates: one that the library can't read must not hide the others."""
        data: Json = {"timeout": seconds, "allowed_updates": UPDATES}
        if offset is not None:
            data["offset"] = offset
        updates: list[Json] = await self._post("getUpdates", data, read_timeout=seconds + _SLACK)
        return updates

    async def renew_polling(self) -> None:
        """Replace the polling connections; a dead one may not even close, so that gets two seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await self._polls.shutdown()
        await self._polls.initialize()

    async def hang_up(self) -> None:
        """Close every connection."""
        await asyncio.gather(self._polls.shutdown(), self._calls.shutdown(), return_exceptions=True)


def upload(name: str, data: bytes) -> InputFile:
    """A file as a parameter of `call`. The first one may read the system's list of file types: call it in a thread."""
    return InputFile(data, filename=name)


def quiet() -> None:
    """Keep the token out of the log: these loggers write whole addresses at INFO or DEBUG."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("telegram").setLevel(logging.ERROR)


def _retry_after(body: bytes) -> float:
    try:
        return max(float(json.loads(body)["parameters"]["retry_after"]), 0.0)
    except (ValueError, LookupError, TypeError):
        return _UNSTATED
