"""Webhook mode: Telegram sends the updates; the response 200 acknowledges them after they were accepted."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
from urllib.parse import urlsplit

from aiohttp import web
from telegram.error import TelegramError

from bot.adapters.shared.descriptor import secret
from bot.adapters.telegram.api import UPDATES, Api
from bot.adapters.telegram.receiving import Take
from bot.adapters.telegram.settings import Pace, TelegramSettings
from bot.platform import Progress
from routing.errors import ConfigError, Reason, StorageFault, system_reason
from routing.ports import Clock

log = logging.getLogger(__name__)
_HEADER = "X-Telegram-Bot-Api-Secret-Token"
_MAX_BYTES = 4 * 2**20  # maximum size of an update in bytes
_MAX_NESTING = 64  # maximum nesting of objects and arrays; Telegram's own updates have fewer than 20 levels
_RECENT = 300.0  # seconds during which a failed delivery counts as a problem


class Webhook:
    """The server that Telegram calls. It listens before its address is given to Telegram."""

    def __init__(self, settings: TelegramSettings, pace: Pace, api: Api, progress: Progress, clock: Clock) -> None:
        self._url = settings.telegram_webhook_url or ""
        self._host, self._port = _address(settings.telegram_webhook_listen)
        self._secret = secret(settings.telegram_webhook_secret) or secrets.token_urlsafe(32)
        self._every = pace.webhook_check
        self._api = api
        self._progress = progress
        self._clock = clock
        self._take: Take | None = None
        self._runner: web.AppRunner | None = None
        self._check: asyncio.Task[None] | None = None

    async def announce(self) -> None:
        """Listen, then tell Telegram the address. Raises TelegramError, or ConfigError if it is not available."""
        await self._listen()
        await self._api.set_webhook(
            self._url, allowed_updates=list(UPDATES), secret_token=self._secret, drop_pending_updates=False
        )

    async def _listen(self) -> None:
        """Raises ConfigError if the address is in use or not on this machine."""
        if self._runner is not None:
            return
        app = web.Application(client_max_size=_MAX_BYTES)
        app.router.add_post(urlsplit(self._url).path or "/", self._deliver)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(
                "TELEGRAM_WEBHOOK_LISTEN: cannot listen on {address} ({error}).",
                address=f"{self._host}:{self._port}",
                error=system_reason(error),
            ) from error
        self._runner = runner

    def start(self, take: Take) -> None:
        """Accept deliveries from now on. Earlier ones got a 503, and Telegram repeats them."""
        self._take = take
        self._check = asyncio.create_task(self._monitor_deliveries())

    async def stop(self) -> None:
        """Accept no more deliveries; Telegram repeats them after the next start."""
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
        if not isinstance(update, dict) or nesting(update) > _MAX_NESTING:
            return web.Response(status=400)
        try:
            await self._take([update])
        except StorageFault as error:
            log.error("a Telegram update can't be saved (%s); Telegram will send it again", error)
            self._progress.problem = Reason("updates can't be saved; Telegram will send them again")
            return web.Response(status=503)
        self._progress.last_step = self._clock()
        self._progress.problem = ""
        return web.Response()

    async def _monitor_deliveries(self) -> None:
        """Ask Telegram regularly whether its deliveries arrive, because silence may also mean a wrong address."""
        while True:
            await asyncio.sleep(self._every)
            try:
                info = await self._api.get_webhook_info()
            except TelegramError as error:
                self._progress.last_step = self._clock()
                self._progress.problem = Reason("no connection to Telegram ({error})", error=type(error).__name__)
                continue
            self._progress.last_step = now = self._clock()
            problem = ""
            if info.url != self._url:
                problem = "another program changed the webhook of this token; restart this bot"
            elif info.last_error_date and now - info.last_error_date.timestamp() < _RECENT:
                problem = f"Telegram cannot deliver to the webhook: {info.last_error_message}"
            if problem and problem != self._progress.problem:
                log.error("Telegram: %s", problem)
            self._progress.problem = problem


def nesting(value: object) -> int:
    """The depth of nested objects and arrays."""
    depth, level = 0, [value]
    while outer := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in outer for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        words = "TELEGRAM_WEBHOOK_LISTEN must be host:port, such as 127.0.0.1:8443, not {value!r}."
        raise ConfigError(words, value=listen)
    return host.strip("[]") or "0.0.0.0", int(port)
