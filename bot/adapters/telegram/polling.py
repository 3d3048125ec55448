"""Long polling: an update is acknowledged by the next offset, and only after it was accepted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from telegram.error import NetworkError, TelegramError

from bot.adapters.telegram.api import Api, Json, ServerTrouble
from bot.adapters.telegram.options import Pace
from bot.adapters.telegram.trouble import Trouble
from bot.platform import Progress
from routing.ports import Clock

log = logging.getLogger(__name__)
Take = Callable[[Sequence[Json]], Awaitable[None]]


class Poller:
    """The loop, and a watchdog that replaces connections on which nothing arrives any more."""

    def __init__(self, api: Api, progress: Progress, clock: Clock, pace: Pace) -> None:
        self._api = api
        self._take: Take = _nothing
        self._progress = progress
        self._clock = clock
        self._pace = pace
        self._trouble = Trouble(progress, pace)
        self._offset: int | None = None
        self._confirmed: int | None = None
        self._updated_at = 0.0
        self._heard_at = 0.0
        self._taking = False
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self.renewals = 0

    async def greet(self) -> None:
        """A webhook left over would refuse polling. Raises TelegramError."""
        await self._api.delete_webhook(drop_pending_updates=False)

    def start(self, take: Take) -> None:
        self._take = take
        self._updated_at = self._heard_at = self._clock()
        self._task = asyncio.create_task(self._run())
        self._watch = asyncio.create_task(self._guard())

    async def stop(self) -> None:
        """Take nothing more. What is being accepted is finished and acknowledged."""
        if self._task is None or self._watch is None:
            return
        self._watch.cancel()
        await asyncio.wait({self._watch})
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

    async def _run(self) -> None:
        while True:
            now = self._clock()
            if now - self._updated_at > self._pace.idle_offset:
                self._offset = None  # ids may restart lower after a quiet week: an old offset would confirm them unread
            try:
                updates = await self._api.poll(self._offset, self._pace.long_poll)
            except TelegramError as error:
                self._progress.last_step = self._clock()
                if not isinstance(error, NetworkError) or isinstance(error, ServerTrouble):
                    self._heard_at = self._clock()
                await asyncio.sleep(self._trouble.with_call(error))
                continue
            self._confirmed = self._offset
            self._progress.last_step = self._progress.last_contact = self._heard_at = self._clock()
            if not updates:
                self._trouble.over()
            elif not await self._accepted(updates):
                continue

    async def _accepted(self, updates: Sequence[Json]) -> bool:
        """Whether the updates are durable and may be acknowledged; after a failure a pause has passed."""
        self._taking = True
        try:
            await self._take(updates)
        except Exception as error:
            # Any failure to keep them, a full disk as well as a bug, has one consequence: they are asked for again.
            log.debug("accepting failed", exc_info=True)
            self._taking = False
            await asyncio.sleep(self._trouble.with_accepting(error))
            return False
        else:
            self._trouble.over()
            self._offset = max(update["update_id"] for update in updates) + 1
            self._updated_at = self._clock()
            return True
        finally:
            self._taking = False

    async def _guard(self) -> None:
        while True:
            await asyncio.sleep(self._pace.watch)
            task = self._task
            if task is None or self._taking:
                continue
            if task.done():
                log.error("Telegram: the polling loop failed and is restarting", exc_info=task.exception())
            elif self._clock() - self._heard_at <= self._pace.deaf:
                continue
            else:
                log.warning("Telegram: nothing heard for %d s; reconnecting", self._clock() - self._heard_at)
                task.cancel()
                await asyncio.wait({task})
            await self._api.renew_polling()
            self.renewals += 1
            self._heard_at = self._clock()
            self._task = asyncio.create_task(self._run())


async def _nothing(_: Sequence[Json]) -> None:
    """Takes updates before `start` says who does; never called."""
