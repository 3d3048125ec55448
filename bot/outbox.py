"""Sends what the outbox holds: in order for each chat, marked before and after, again when it failed."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from bot.platform import Platform, SendLater, SendRefused
from handlers.patience import patiently
from routing.errors import StorageFault
from routing.ports import Clock
from routing.stores import OutboxEntry, OutboxStore
from routing.types import ChatKey, OutboundMessage

STORAGE_SECONDS = 5.0
"""How long a reply waits that needed the storage on its way."""

Undeliverable = Callable[[ChatKey, str], Awaitable[None]]
"""Told of a chat that can't be reached, and why."""

log = logging.getLogger("bot.outbox")


class OutboxSender:
    """One task a chat with unsent replies; a chat that can't be reached holds up no other."""

    def __init__(
        self, store: OutboxStore, platforms: Mapping[str, Platform], undeliverable: Undeliverable, clock: Clock
    ) -> None:
        self._store = store
        self._platforms = platforms
        self._undeliverable = undeliverable
        self._clock = clock
        self._lanes: dict[ChatKey, asyncio.Task[None]] = {}
        self._waiting: dict[ChatKey, deque[OutboxEntry]] = {}
        self._closing = False

    async def resume(self) -> None:
        """Send what an earlier process left."""
        self.take(await patiently(self._store.unsent))

    async def post(self, messages: Sequence[OutboundMessage]) -> None:
        """Queue notices that answer no message, and send them."""
        self.take(await self._store.add(messages))

    def take(self, entries: Sequence[OutboxEntry]) -> None:
        """Send what was queued; what a platform that is not there should send waits for it in the store."""
        for entry in entries:
            if entry.message.chat.platform in self._platforms and not self._closing:
                self._enqueue(entry)

    async def drain(self, seconds: float) -> None:
        """Give what is on its way a moment; the rest goes out after the next start."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._lanes:
                    await asyncio.wait(self._lanes.values())
        self._closing = True
        for lane in self._lanes.values():
            lane.cancel()
        await asyncio.gather(*self._lanes.values(), return_exceptions=True)

    def _enqueue(self, entry: OutboxEntry) -> None:
        chat = entry.message.chat
        self._waiting.setdefault(chat, deque()).append(entry)
        if chat not in self._lanes:
            self._lanes[chat] = asyncio.create_task(self._lane(chat), name=f"outbox {chat.platform}")
            self._lanes[chat].add_done_callback(_ended)

    async def _lane(self, chat: ChatKey) -> None:
        try:
            while self._waiting[chat]:
                await self._deliver(self._waiting[chat].popleft())
        finally:
            left = self._waiting.pop(chat)
            del self._lanes[chat]
            if left and not self._closing:  # behind one that failed in a way nobody foresaw
                for entry in left:
                    self._enqueue(entry)

    async def _deliver(self, entry: OutboxEntry) -> None:
        """Send one reply, however often it takes."""
        while True:
            try:
                await self._attempt(entry)
                return
            except StorageFault as fault:
                later = SendLater(str(fault), STORAGE_SECONDS)
            except SendLater as asked:
                later = asked
            log.warning("[Outbox] %s; again in %.0f s", later, later.seconds)
            not_before = self._clock() + later.seconds
            await patiently(self._store.again, entry.id, not_before, later.maybe_sent, str(later))
            await asyncio.sleep(later.seconds)
            refreshed = await patiently(self._store.get, entry.id)
            if refreshed is None or refreshed.state not in ("pending", "attempting"):
                return
            entry = refreshed

    async def _attempt(self, entry: OutboxEntry) -> None:
        wait = entry.not_before - self._clock()
        if wait > 0:
            await asyncio.sleep(wait)
        recovered = entry.state == "attempting"
        await patiently(self._store.attempting, entry.id)
        platform = self._platforms[entry.message.chat.platform]
        done = entry.pieces_sent
        try:
            async for sent in platform.send(entry.message, entry.id, done, recovered):
                done += 1
                if sent.last:
                    await patiently(self._store.sent, entry.id, sent.message_id)
                else:
                    await patiently(self._store.piece_sent, entry.id, done, sent.message_id)
                    await patiently(self._store.attempting, entry.id)
        except SendRefused as refused:
            log.warning("[Outbox] Reply %d can't be delivered: %s", entry.id, refused)
            await patiently(self._store.dead, entry.id, str(refused))
            await patiently(self._undeliverable, entry.message.chat, str(refused))


def _ended(lane: asyncio.Task[None]) -> None:
    if not lane.cancelled() and lane.exception() is not None:
        log.error("[Outbox] A reply could not be sent", exc_info=lane.exception())
