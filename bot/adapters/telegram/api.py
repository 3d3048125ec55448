"""The Bot API: python-telegram-bot's Bot with two connection pools, and errors that keep the HTTP status.

Besides the library's errors it raises TooMany, a TelegramError, for a 429 with `seconds` to wait, and ServerError, a
NetworkError, for a 5xx with its `code`: after a gateway timeout the call may have been carried out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from typing import Any

import httpx
from telegram import Bot, InputFile
from telegram.error import BadRequest, NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, HTTPXRequest, RequestData

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


class Request(HTTPXRequest):
    """The library's HTTP client with a timeout for the whole call, because its own timeouts restart with every byte,
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
            async with asyncio.timeout(answer + self._connecting + _UPLOAD * is_file):
                code, body = await super().do_request(
                    url, method, request_data, read_timeout, write_timeout, connect_timeout, pool_timeout
                )
        except TimeoutError as error:
            raise TimedOut from error
        if code == 413:  # from a proxy before a local server; repeating the call would not help
            raise BadRequest("the file is too large for the server")
        if code == 429:
            raise TooMany(_retry_after(body))
        if code >= 500:
            raise ServerError(code)
        return code, body

    @staticmethod
    def parse_json_payload(payload: bytes) -> Json:
        """Parse a response. The library raises KeyError for JSON that is not from the Bot API."""
        data: Json = HTTPXRequest.parse_json_payload(payload)
        if not isinstance(data, dict) or not ("result" in data or "description" in data):
            raise TelegramError("Invalid server response")
        return data


class Api(Bot):
    """One bot. Polling uses separate connections, so that a long poll never delays a reply."""

    __slots__ = ("_calls", "_polls")

    def __init__(self, settings: TelegramSettings, pace: Pace) -> None:
        quiet()
        root = settings.telegram_api_root.rstrip("/")
        # Loading the certificates takes 20 to 60 ms: done once for both pools, and not at all for plain HTTP.
        verify = httpx.create_ssl_context() if root.startswith("https") else False
        limits = httpx.Limits(max_connections=_POOL, keepalive_expiry=_KEEPALIVE)
        kwargs: Json = {"httpx_kwargs": {"verify": verify, "limits": limits, "trust_env": False}}
        kwargs["proxy"] = settings.telegram_proxy_used()
        for wait in ("connect_timeout", "write_timeout", "pool_timeout"):
            kwargs[wait] = pace.connect
        try:
            self._polls = Request(read_timeout=pace.answer, **kwargs)
            self._calls = Request(read_timeout=pace.answer, **kwargs)
        except (RuntimeError, ValueError, httpx.InvalidURL):
            raise ConfigError(
                "TELEGRAM_PROXY cannot be used; write http://host:port (socks5:// needs the package socksio)."
            ) from None
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

    async def hang_up(self) -> None:
        """Close all connections."""
        await asyncio.gather(self._polls.shutdown(), self._calls.shutdown(), return_exceptions=True)


def upload(name: str, data: bytes) -> InputFile:
    """A file as a parameter of `call`. The first call may read the system's MIME types, so run it in a thread."""
    return InputFile(data, filename=name)


def quiet() -> None:
    """Keep the token out of the log: these loggers write full URLs at INFO or DEBUG."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("telegram").setLevel(logging.ERROR)


def _retry_after(body: bytes) -> float:
    try:
        return max(float(json.loads(body)["parameters"]["retry_after"]), 0.0)
    except (ValueError, LookupError, TypeError):
        return _DEFAULT_RETRY
