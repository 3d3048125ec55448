"""Sends replies: in order for each chat, recorded before and after, and repeated until they arrive."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from bot.adapters.shared.background import Background
from bot.adapters.shared.keyed_queue import KeyedQueue
from bot.platform import Platform, SendLater, SendRefused
from handlers.storage_retry import retry_storage
from routing.backoff import exponential
from routing.bounded import Bounded
from routing.errors import StorageFault
from routing.ports import Clock, OutboxStore
from routing.tracing import current_span, span
from routing.types.lease import Lease
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage
from routing.types.queues import OutboxEntry

LAST_RECORDS_SECONDS = 1.0
"""Maximum time to record what was sent, at the end."""
STORAGE_SECONDS = 5.0
"""Pause after a storage failure while sending a reply."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 30.0
"""Pause between two attempts if the platform asks for none, in seconds; doubles with each attempt."""
MAX_AMBIGUOUS_ATTEMPTS = 3
"""Give up after this many attempts that may have arrived, since each may have shown a copy."""
UNCONFIRMED = "the platform did not confirm that it arrived"
MAX_LEFT_SECONDS = 3600.0
"""Maximum wait of a reply after a restart, even if the database holds a later time."""

Undeliverable = Callable[[ChatKey, str], Awaitable[None]]
"""Called with a chat that can't be reached, and the reason."""
Unconfirmed = Callable[[OutboundMessage], Awaitable[None]]
"""Tells the person that this reply may be missing or may have arrived twice."""

log = logging.getLogger("bot.outbox")


class NoReplyEvents:
    """Tells platforms that a message gets no reply."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = {}

    async def wait(self, message: InboundMessage) -> None:
        """Return once it is certain that the message gets no reply."""
        event = self._waiting.setdefault(message.update_id, asyncio.Event())
        try:
            await event.wait()
        finally:
            self._waiting.pop(message.update_id, None)

    def note(self, message: InboundMessage) -> None:
        """Record that this message gets no reply."""
        if message.update_id in self._waiting:
            self._waiting[message.update_id].set()


class OutboxSender:
    """Sends replies to each chat in order; an unreachable chat does not delay others."""

    def __init__(
        self,
        store: OutboxStore,
        platforms: Mapping[str, Platform],
        undeliverable: Undeliverable,
        unconfirmed: Unconfirmed,
        clock: Clock,
        lease: Lease | None = None,
    ) -> None:
        """With a lease, other processes send replies, too."""
        self.lease = lease
        self._store = store
        self.platforms = platforms
        self.no_replies = NoReplyEvents()
        self._undeliverable = undeliverable
        self._unconfirmed = unconfirmed
        self._noted = Bounded[ChatKey, bool]()
        """Chats told of a possibly missing reply since a message last arrived there."""
        self._clock = clock
        self._spans: dict[int, object] = {}
        """For each waiting reply, the span of the message that it answers."""
        self._queue: KeyedQueue[ChatKey, OutboxEntry] = KeyedQueue("[Outbox]", self._send_next)
        self._background = Background("[Outbox]")

    async def resume(self) -> None:
        """Send the replies that an earlier process left."""
        self.take(await retry_storage(self._store.unsent))

    async def post(self, messages: Sequence[OutboundMessage]) -> None:
        """Store and send notices that do not answer a message."""
        self.take(await self._store.add(messages))

    def take(self, entries: Sequence[OutboxEntry]) -> None:
        """Send stored replies. Those for a platform that is not running stay in the store, and those that this process
        may not send are announced."""
        if self.lease is not None and (others := [each for each in entries if not each.held]):
            self.lease.announce(each.message.chat for each in others)
        for entry in entries:
            if entry.held and entry.message.chat.platform in self.platforms:
                if (parent := current_span()) is not None:
                    self._spans[entry.id] = parent
                self._queue.put(entry.message.chat, entry)

    def is_sending(self, chat: ChatKey) -> bool:
        """Whether replies to this chat are being sent."""
        return chat in self._queue

    def sends_at_once(self, chat: ChatKey) -> bool:
        """Whether the next reply to this chat will be sent as soon as it is stored."""
        return chat.platform in self.platforms and chat not in self._queue

    @property
    def chats(self) -> int:
        """Number of chats to which replies are being sent."""
        return len(self._queue)

    async def drain(self, seconds: float) -> None:
        """Keep sending for at most `seconds`; the next start sends the rest."""
        await self._queue.join(seconds)
        await self._queue.close()
        await self._background.close(LAST_RECORDS_SECONDS)

    async def abandon(self) -> None:
        """Send nothing of what waits, as other processes do that by now."""
        await self._queue.abandon()
        self._spans.clear()

    async def _send_next(self, chat: ChatKey) -> None:
        entry = self._queue.take(chat)
        with span("send", {"tierbot.platform": chat.platform}, self._spans.pop(entry.id, None)):
            await self._deliver(entry)

    async def _deliver(self, entry: OutboxEntry) -> None:
        """Send one reply until it arrives, or until it may have arrived several times."""
        for failures in count(1):
            try:
                await self._attempt(entry)
                return
            except StorageFault as fault:
                later = SendLater(str(fault), STORAGE_SECONDS)
            except SendLater as asked:
                later = asked
            present = await retry_storage(self._store.get, entry.id)
            if present is None:
                return
            ambiguous = present.ambiguous
            if later.maybe_sent:
                ambiguous = max(ambiguous, 1) if later.protected else ambiguous + 1
                if ambiguous >= MAX_AMBIGUOUS_ATTEMPTS and not later.protected:
                    await self._give_up(entry)
                    return
            pause = pause_after(later, failures, ambiguous)
            log.warning("[Outbox] %s; trying again in %.1f s", later, pause)
            await retry_storage(self._store.retry_later, entry.id, self._clock() + pause, ambiguous, str(later))
            await asyncio.sleep(pause)
            refreshed = await retry_storage(self._store.get, entry.id)
            if refreshed is None or refreshed.state not in ("pending", "attempting"):
                return
            entry = replace(refreshed, not_before=0.0)  # the pause is over

    async def _give_up(self, entry: OutboxEntry) -> None:
        """Give up on a reply to unblock those behind it. If the note about it is lost too, it is not repeated."""
        chat = entry.message.chat
        log.error("[Outbox] Giving up on reply %d after %d attempts: %s", entry.id, MAX_AMBIGUOUS_ATTEMPTS, UNCONFIRMED)
        await retry_storage(self._store.dead, entry.id, UNCONFIRMED)
        await retry_storage(self._undeliverable, chat, UNCONFIRMED)
        if not self._noted.get(chat):
            self._noted[chat] = True
            await retry_storage(self._unconfirmed, entry.message)

    async def _attempt(self, entry: OutboxEntry) -> None:
        await asyncio.sleep(seconds_left(entry, self._clock()))
        recovered = entry.ambiguous > 0 or entry.state == "attempting"
        if entry.state != "begun":
            await retry_storage(self._store.attempting, entry.id)
        platform = self.platforms[entry.message.chat.platform]
        done = entry.pieces_sent
        message = await retry_storage(self._store.with_files, entry.message)
        await self._wait_for_lease()
        try:
            async for sent in platform.send(message, entry.id, done, recovered):
                done += 1
                self._noted.pop(entry.message.chat, None)
                if sent.last:
                    # Not waited for: it shares a commit with another step, and the next reply may go out before.
                    self._background.spawn(retry_storage(self._store.sent, entry.id, sent.message_id))
                else:
                    await retry_storage(self._store.piece_sent, entry.id, done, sent.message_id)
                    await retry_storage(self._store.attempting, entry.id)
                    await self._wait_for_lease()
        except SendRefused as refused:
            log.warning("[Outbox] Reply %d can't be delivered: %s", entry.id, refused)
            if entry.message.otherwise is not None:
                await self._redirect(entry, entry.message.otherwise, str(refused))
                return
            await retry_storage(self._store.dead, entry.id, str(refused))
            await retry_storage(self._undeliverable, entry.message.chat, refused.reason)

    async def _wait_for_lease(self) -> None:
        """This process may have been frozen, and others may have sent the reply meanwhile."""
        if self.lease is not None:
            await self.lease.wait_until_valid()

    async def _redirect(self, entry: OutboxEntry, chat: ChatKey, reason: str) -> None:
        """Send a reply to the chat that its message names for this case."""
        message = replace(entry.message, chat=chat, otherwise=None, reply_to="", edits="")
        self.take([await retry_storage(self._store.redirect, entry.id, message, reason)])


def pause_after(later: SendLater, failures: int, ambiguous: int) -> float:
    """Seconds until the next attempt: what the platform asks for, or else a backoff over `failures` in a row. Each of
    the `ambiguous` attempts that may have left a copy doubles what is asked for, up to MAX_LEFT_SECONDS."""
    if later.seconds is None:
        return exponential(failures, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
    if later.maybe_sent and not later.protected:
        return exponential(ambiguous, later.seconds, MAX_LEFT_SECONDS)
    return later.seconds


def seconds_left(entry: OutboxEntry, now: float) -> float:
    """Seconds left of a pause that an earlier process began; 0 if the system clock was set back since."""
    if entry.created_at > now:
        return 0.0
    return max(0.0, min(entry.not_before - now, MAX_LEFT_SECONDS))
