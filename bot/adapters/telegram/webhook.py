"""Webhook mode: Telegram brings the updates; 200 is the acknowledgement, sent after they were accepted."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from aiohttp import web
from telegram.error import TelegramError

from bot.adapters.telegram.api import UPDATES, Api, Json
from bot.adapters.telegram.options import TelegramOptions
from bot.platform import Progress
from routing.errors import ConfigError, Reason
from routing.ports import Clock

log = logging.getLogger(__name__)
Take = Callable[[Sequence[Json]], Awaitable[None]]
_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_LARGEST = 4 * 2**20  # bytes of one update
_DEEPEST = 64  # objects and arrays inside each other; Telegram's own updates have fewer than 20
_RECENT = 300.0  # seconds for which a failed delivery counts as trouble


class Webhook:
    """The server that Telegram calls. It listens before Telegram is told of it."""

    def __init__(self, options: TelegramOptions, api: Api, progress: Progress, clock: Clock) -> None:
        self._url = options.webhook_url or ""
        self._host, self._port = _address(options.webhook_listen)
        self._secret = options.webhook_secret or secrets.token_urlsafe(32)
        self._every = options.pace.webhook_check
        self._api = api
        self._progress = progress
        self._clock = clock
        self.renewals = 0
        self._take: Take | None = None
        self._runner: web.AppRunner | None = None
        self._check: asyncio.Task[None] | None = None

    async def greet(self) -> None:
        """Listen, then tell Telegram where. Raises TelegramError, and ConfigError for an address not to be had."""
        await self._listen()
        await self._api.set_webhook(
            self._url, allowed_updates=list(UPDATES), secret_token=self._secret, drop_pending_updates=False
        )

    async def _listen(self) -> None:
        """Raises ConfigError when the address is taken or not ours."""
        if self._runner is not None:
            return
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_post(urlsplit(self._url).path or "/", self._deliver)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(
                f"TELEGRAM_WEBHOOK_LISTEN: cannot listen on {self._host}:{self._port} ({error.strerror})."
            ) from error
        self._runner = runner

    def start(self, take: Take) -> None:
        """From here on deliveries are taken; earlier ones were put off."""
        self._take = take
        self._check = asyncio.create_task(self._look_after())

    async def stop(self) -> None:
        """Take nothing more; Telegram keeps what comes and delivers it after the next start."""
        self._take = None
        if self._check is not None:
            self._check.cancel()
            await asyncio.wait({self._check})
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _deliver(self, request: web.Request) -> web.Response:
        given = request.headers.get(_HEADER, "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._secret.encode()):
            log.warning("a call to the Telegram webhook without the right secret was rejected")
            return web.Response(status=403)
        if self._take is None:
            return web.Response(status=503)
        try:
            update = json.loads(await request.read())
        except (ValueError, RecursionError):
            return web.Response(status=400)
        if not isinstance(update, dict) or nesting(update) > _DEEPEST:
            return web.Response(status=400)
        try:
            await self._take([update])
        except Exception as error:
            # Any failure to keep it has one consequence: Telegram is asked to bring it again.
            log.error("a Telegram update can't be saved (%s); Telegram will send it again", type(error).__name__)
            log.debug("accepting failed", exc_info=True)
            self._progress.trouble = Reason("updates can't be saved; Telegram will send them again")
            return web.Response(status=503)
        self._progress.last_step = self._progress.last_contact = self._clock()
        self._progress.trouble = ""
        return web.Response()

    async def _look_after(self) -> None:
        """Ask Telegram now and then whether its deliveries arrive: nothing else would tell silence from deafness."""
        while True:
            await asyncio.sleep(self._every)
            try:
                info = await self._api.get_webhook_info()
            except TelegramError as error:
                self._progress.last_step = self._clock()
                self._progress.trouble = Reason("no connection to Telegram ({error})", error=type(error).__name__)
                continue
            self._progress.last_step = self._progress.last_contact = now = self._clock()
            trouble = ""
            if info.url != self._url:
                trouble = "another program changed the webhook of this token; restart this bot"
            elif info.last_error_date and now - info.last_error_date.timestamp() < _RECENT:
                trouble = f"Telegram cannot deliver to the webhook: {info.last_error_message}"
            if trouble and trouble != self._progress.trouble:
                log.error("Telegram: %s", trouble)
            self._progress.trouble = trouble


def nesting(value: object) -> int:
    """How many objects and arrays stand inside each other."""
    depth, level = 0, [value]
    while outer := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in outer for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"TELEGRAM_WEBHOOK_LISTEN must be host:port, such as 127.0.0.1:8443, not {listen!r}.")
    return host.strip("[]") or "0.0.0.0", int(port)
