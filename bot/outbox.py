"""Sends what the outbox holds: in order for each chat, marked before and after, again when it failed."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

from bot.platform import Platform, SendLater, SendRefused
from handlers.patience import patiently
from handlers.recent import Recent
from routing.errors import StorageFault
from routing.ports import Clock, OutboxStore
from routing.types.messages import ChatKey, OutboundMessage
from routing.types.queues import OutboxEntry

STORAGE_SECONDS = 5.0
"""How long a reply waits that needed the storage on its way."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between the tries of one reply; the last one for as long as it takes."""
MOST_AMBIGUOUS = 3
"""A reply that may have arrived this many times is not sent again: each attempt may have shown a copy."""
UNCONFIRMED = "the platform did not confirm that it arrived"
LONGEST_PAUSE_SECONDS = 3600.0
"""After a restart a reply waits no longer than this, whatever was written down before."""

Undeliverable = Callable[[ChatKey, str], Awaitable[None]]
"""Told of a chat that can't be reached, and why."""
Unconfirmed = Callable[[OutboundMessage], Awaitable[None]]
"""Tells the person that this reply may be missing or doubled."""

log = logging.getLogger("bot.outbox")


class OutboxSender:
    """One task a chat with unsent replies; a chat that can't be reached holds up no other."""

    def __init__(
        self,
        store: OutboxStore,
        platforms: Mapping[str, Platform],
        undeliverable: Undeliverable,
        unconfirmed: Unconfirmed,
        clock: Clock,
    ) -> None:
        self._store = store
        self._platforms = platforms
        self._undeliverable = undeliverable
        self._unconfirmed = unconfirmed
        self._noted: Recent[ChatKey, bool] = Recent()
        """Chats with a note that a reply may be missing, since they last confirmed a message."""
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

    def is_sending(self, chat: ChatKey) -> bool:
        """Whether replies to this chat are on their way."""
        return chat in self._lanes

    @property
    def chats(self) -> int:
        """How many chats have replies on their way."""
        return len(self._lanes)

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
        """Send one reply, however often it takes; one that may have arrived is repeated a few times only."""
        for failures in count():
            try:
                await self._attempt(entry)
                return
            except StorageFault as fault:
                later = SendLater(str(fault), STORAGE_SECONDS)
            except SendLater as asked:
                later = asked
            present = await patiently(self._store.get, entry.id)
            if present is None:
                return
            ambiguous, pause = present.ambiguous, PAUSES[min(failures, len(PAUSES) - 1)]
            if later.seconds is not None:
                pause = later.seconds
            if later.maybe_sent:
                ambiguous = max(ambiguous, 1) if later.protected else ambiguous + 1
                if ambiguous >= MOST_AMBIGUOUS and not later.protected:
                    await self._park(entry)
                    return
                pause *= 1 if later.protected else 2 ** (ambiguous - 1)
            log.warning("[Outbox] %s; trying again in %.1f s", later, pause)
            await patiently(self._store.again, entry.id, self._clock() + pause, ambiguous, str(later))
            await asyncio.sleep(pause)
            refreshed = await patiently(self._store.get, entry.id)
            if refreshed is None or refreshed.state not in ("pending", "attempting"):
                return
            entry = replace(refreshed, not_before=0.0)  # that pause is over

    async def _park(self, entry: OutboxEntry) -> None:
        """Let the replies behind it go on. The note that says so is not followed by another when it is lost, too."""
        chat = entry.message.chat
        log.error("[Outbox] Giving up on reply %d after %d attempts: %s", entry.id, MOST_AMBIGUOUS, UNCONFIRMED)
        await patiently(self._store.dead, entry.id, UNCONFIRMED)
        await patiently(self._undeliverable, chat, UNCONFIRMED)
        if not self._noted.get(chat):
            self._noted.put(chat, True)
            await patiently(self._unconfirmed, entry.message)

    async def _attempt(self, entry: OutboxEntry) -> None:
        await asyncio.sleep(left(entry, self._clock()))
        recovered = entry.ambiguous > 0 or entry.state == "attempting"
        await patiently(self._store.attempting, entry.id)
        platform = self._platforms[entry.message.chat.platform]
        done = entry.pieces_sent
        try:
            async for sent in platform.send(entry.message, entry.id, done, recovered):
                done += 1
                self._noted.drop(entry.message.chat)
                if sent.last:
                    await patiently(self._store.sent, entry.id, sent.message_id)
                else:
                    await patiently(self._store.piece_sent, entry.id, done, sent.message_id)
                    await patiently(self._store.attempting, entry.id)
        except SendRefused as refused:
            log.warning("[Outbox] Reply %d can't be delivered: %s", entry.id, refused)
            await patiently(self._store.dead, entry.id, str(refused))
            await patiently(self._undeliverable, entry.message.chat, str(refused))


def left(entry: OutboxEntry, now: float) -> float:
    """Seconds of the pause that an earlier process began. None is left when the system clock was set back since."""
    if entry.created_at > now:
        return 0.0
    return max(0.0, min(entry.not_before - now, LONGEST_PAUSE_SECONDS))


def _ended(lane: asyncio.Task[None]) -> None:
    if not lane.cancelled() and lane.exception() is not None:
        log.error("[Outbox] A reply could not be sent", exc_info=lane.exception())
