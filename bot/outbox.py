"""Sends what the outbox holds: in order for each chat, marked before and after, again when it failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from bot.platform import Platform, SendLater, SendRefused
from handlers.notices import Notices
from routing.errors import StorageFault
from routing.ports import Clock, OutboxEntry, OutboxStore
from routing.types import ChatKey

STALE_SECONDS = 120.0
"""Storage faults while sending are retried at this pace at most."""

log = logging.getLogger("bot.outbox")


class OutboxSender:
    """One task a chat with unsent replies; a chat that can't be reached holds up no other."""

    def __init__(self, store: OutboxStore, platforms: Mapping[str, Platform], notices: Notices, clock: Clock) -> None:
        self._store = store
        self._platforms = platforms
        self._notices = notices
        self._clock = clock
        self._lanes: dict[ChatKey, asyncio.Task[None]] = {}
        self._waiting: dict[ChatKey, list[OutboxEntry]] = {}
        self._newest = 0
        self._reading = asyncio.Lock()

    async def wake(self) -> None:
        """Something was queued: read it and send it."""
        async with self._reading:
            entries = await self._store.unsent(self._newest)
            for entry in entries:
                self._newest = entry.id
                if entry.message.chat.platform in self._platforms:
                    self._enqueue(entry)

    async def drain(self, seconds: float) -> None:
        """Give what is on its way a moment; the rest goes out after the next start."""
        await self.wake()
        if self._lanes:
            await asyncio.wait(self._lanes.values(), timeout=seconds)
        for lane in self._lanes.values():
            lane.cancel()
        await asyncio.gather(*self._lanes.values(), return_exceptions=True)

    def _enqueue(self, entry: OutboxEntry) -> None:
        chat = entry.message.chat
        self._waiting.setdefault(chat, []).append(entry)
        if chat not in self._lanes:
            lane = asyncio.create_task(self._lane(chat), name=f"outbox {chat.platform}")
            self._lanes[chat] = lane

    async def _lane(self, chat: ChatKey) -> None:
        try:
            while self._waiting[chat]:
                await self._deliver(self._waiting[chat][0])
                self._waiting[chat].pop(0)
        finally:
            del self._lanes[chat], self._waiting[chat]

    async def _deliver(self, entry: OutboxEntry) -> None:
        """Send one reply, however often it takes."""
        while True:
            try:
                await self._attempt(entry)
                return
            except StorageFault as fault:
                log.error("%s Trying again.", fault)
                await asyncio.sleep(min(STALE_SECONDS, 2.0 * (entry.attempts + 1)))
            except SendLater as later:
                log.warning("[Outbox] %s; again in %.0f s", later, later.seconds)
                not_before = self._clock() + later.seconds
                await self._store.again(entry.id, not_before, later.maybe_sent, str(later))
                await asyncio.sleep(later.seconds)
            refreshed = await self._store.get(entry.id)
            if refreshed is None or refreshed.state not in ("pending", "attempting"):
                return
            entry = refreshed

    async def _attempt(self, entry: OutboxEntry) -> None:
        wait = entry.not_before - self._clock()
        if wait > 0:
            await asyncio.sleep(wait)
        recovered = entry.state == "attempting"
        await self._store.attempting(entry.id)
        platform = self._platforms[entry.message.chat.platform]
        done = entry.pieces_sent
        try:
            async for sent in platform.send(entry.message, entry.id, done, recovered):
                done += 1
                if sent.last:
                    await self._store.sent(entry.id, sent.message_id)
                else:
                    await self._store.piece_sent(entry.id, done, sent.message_id)
                    await self._store.attempting(entry.id)
        except SendRefused as refused:
            log.warning("[Outbox] Reply %d can't be delivered: %s", entry.id, refused)
            await self._store.dead(entry.id, str(refused))
            await self._tell(entry, refused)

    async def _tell(self, entry: OutboxEntry, refused: SendRefused) -> None:
        chat = entry.message.chat
        words = "📭 A reply to {chat} can't be delivered: {reason}."
        if (
            chat not in await self._notices.owner_chats()
        ):  # an unreachable owner must not be told about themselves, without end
            await self._notices.tell_owners(words, (), chat=f"{chat.platform}:{chat.chat_id}", reason=refused)
            await self.wake()
