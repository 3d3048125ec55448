"""Receives updates: they are parsed and accepted, and then acknowledged to Telegram by the next offset."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from telegram import Update
from telegram.error import Conflict, InvalidToken, NetworkError, TelegramError

from bot.adapters.shared.connection import ConnectionBackoff, ReceiveLoop, parse
from bot.adapters.shared.descriptor import Services
from bot.adapters.telegram.api import Api, Json, ServerError, TooMany
from bot.adapters.telegram.messages import BotIdentity, moved, read
from bot.adapters.telegram.settings import Pace
from bot.platform import Progress
from routing.errors import Reason, StorageFault
from routing.ports import Clock
from routing.types.messages import ChatKey, InboundMessage

log = logging.getLogger(__name__)
Take = Callable[[Sequence[Json]], Awaitable[None]]
"""Makes all messages in the updates durable. If it raises, none may be acknowledged."""

OTHER_POLLER = Reason("another program is polling with this token; stop it, or give this bot its own token")
OTHER_WEBHOOK = Reason("another program has set a webhook for this token; stop it and restart this bot")
REVOKED = Reason("Telegram refuses the token; set a valid TELEGRAM_BOT_TOKEN and restart")


class TelegramBackoff(ConnectionBackoff):
    """See ConnectionBackoff."""

    UNSAVED = "updates can't be saved ({error}); nothing is acknowledged until they can"

    def __init__(self, progress: Progress, pace: Pace) -> None:
        super().__init__("Telegram", progress, pace)
        self._telegram_pace = pace

    def call_failed(self, error: TelegramError) -> float:
        """Seconds to wait after a call failed."""
        pace = self._telegram_pace
        if isinstance(error, TooMany):
            return error.seconds
        if isinstance(error, Conflict):
            self._report(OTHER_WEBHOOK if "webhook" in error.message else OTHER_POLLER)
            return self._pause(pace.conflict, pace.longest_conflict)
        if isinstance(error, InvalidToken):
            self._report(REVOKED)
            return pace.revoked
        reason = type(error.__cause__).__name__ if error.__cause__ else error.message
        self._report(Reason("no connection to Telegram ({error})", error=reason), logging.WARNING)
        return self._pause()


class Receiver:
    """Parses and accepts updates, for polling and for the webhook."""

    def __init__(self, me: BotIdentity, services: Services, progress: Progress) -> None:
        self._me = me
        self._services = services
        self._progress = progress

    async def take(self, updates: Sequence[Json]) -> None:
        """See Take."""
        now = self._services.clock()
        messages: list[InboundMessage] = []
        for raw in updates:
            message, migration = self._parse(raw, now)
            if migration is not None:
                await self._save(messages)
                messages = []
                await self._services.chats.moved(*migration)
            if message is not None:
                messages.append(message)
        await self._save(messages)
        self._progress.last_update = self._services.steady()

    async def _save(self, messages: list[InboundMessage]) -> None:
        if messages:
            await self._services.accept(messages)

    def _parse(self, raw: Json, now: float) -> tuple[InboundMessage | None, tuple[ChatKey, str] | None]:
        def parsed() -> tuple[InboundMessage | None, tuple[ChatKey, str] | None]:
            update = Update.de_json(raw, None)
            return read(update, self._me, now), moved(update)

        number = raw.get("update_id") if isinstance(raw, dict) else None
        return parse("Telegram", f"update {number}", raw, parsed) or (None, None)


class Poller(ReceiveLoop):
    """Long polling."""

    def __init__(self, api: Api, progress: Progress, clock: Clock, pace: Pace) -> None:
        super().__init__("Telegram", progress, pace, clock)
        self._api = api
        self._take: Take | None = None
        self._long_poll, self._idle_offset = pace.long_poll, pace.idle_offset
        self._backoff = TelegramBackoff(progress, pace)
        self._offset: int | None = None
        self._confirmed: int | None = None
        self._updated_at = 0.0
        self._taking = False

    async def announce(self) -> None:
        """Delete a webhook, which would prevent polling. Raises TelegramError."""
        await self._api.delete_webhook(drop_pending_updates=False)

    def start(self, take: Take) -> None:
        self._take = take
        self._updated_at = self._clock()
        self._begin()

    async def stop(self) -> None:
        """Stop receiving. Updates being accepted are finished and acknowledged."""
        if self._task is None or self._watchdog is None:
            return
        self._watchdog.cancel()
        await asyncio.wait({self._watchdog})
        for _ in range(100):  # 5 s
            if not self._taking or self._task.done():
                break
            await asyncio.wait({self._task}, timeout=0.05)
        self._task.cancel()
        await asyncio.wait({self._task})
        self._task = None
        if self._offset != self._confirmed:
            with contextlib.suppress(TelegramError, TimeoutError):
                async with asyncio.timeout(1):
                    await self._api.poll(self._offset, 0)

    async def _receive(self) -> None:
        while True:
            now = self._clock()
            if now - self._updated_at > self._idle_offset:
                # Ids may restart lower after a quiet week; an old offset would acknowledge them unread.
                self._offset = None
            try:
                updates = await self._api.poll(self._offset, self._long_poll)
            except TelegramError as error:
                self._progress.last_step = self._clock()
                if not isinstance(error, NetworkError) or isinstance(error, ServerError):
                    self._heard_at = self._clock()
                await asyncio.sleep(self._backoff.call_failed(error))
                continue
            self._confirmed = self._offset
            self._progress.last_step = self._heard_at = self._clock()
            if not updates:
                self._backoff.recovered()
            elif not await self._accepted(updates):
                continue

    async def _accepted(self, updates: Sequence[Json]) -> bool:
        """Whether the updates are durable and may be acknowledged. Pauses after a failure."""
        assert self._take is not None, "set by start"
        self._taking = True
        try:
            await self._take(updates)
        except StorageFault as error:  # Telegram sends them again
            self._taking = False
            await asyncio.sleep(self._backoff.saving_failed(error))
            return False
        else:
            self._backoff.recovered()
            self._offset = max(update["update_id"] for update in updates) + 1
            self._updated_at = self._clock()
            return True
        finally:
            self._taking = False

    async def _renew(self) -> None:
        await self._api.renew_polling()

    def _last_heard(self, now: float) -> float:
        """Saving updates may take long, which says nothing about the connection."""
        return now if self._taking else self._heard_at
