"""Shares the chats with other processes on the same database: claims chats in which something waits, and lets go of all
chats once others have taken over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Protocol

from bot.adapters.shared.background import Background
from bot.inbox.inbox import Inbox
from bot.outbox import OutboxSender
from handlers.storage_retry import retry_storage
from routing.error_boundary import ErrorBoundary
from routing.errors import StorageFault
from routing.ports import ClaimStore
from routing.types.lease import Lease

BEAT_SECONDS = 1.5
"""Between two heartbeats."""
STEADY_SECONDS = 6.0
"""Only a process whose own heartbeats arrive for this time takes others for dead: after a restart of the database,
nobody is taken for dead by mistake."""
LOOK_SECONDS = 1.0
"""Between two looks at all chats, in case a notification was lost."""
BUSY_SECONDS = 0.05
"""A busy process waits this long before it claims, so that others can do so first."""
UNUSED_SECONDS = 60.0
"""A chat that was not used for this time is given back. Until then its limits and caches are kept."""
LEAVE_SECONDS = 2.0
"""Maximum time to tell others of the end. Without the database, they notice by themselves."""
MAX_CLAIMS = 64
"""Maximum number of chats claimed at once."""

log = logging.getLogger("bot.cluster")


class History(Protocol):
    """What this needs from `storage.history.SqlHistory`."""

    def release(self, chats: Collection[str]) -> None: ...
    def clear(self) -> None: ...


class Cluster:
    """Three tasks: heartbeats, looks at what waits, and telling other processes what was stored for them."""

    def __init__(
        self,
        name: str,
        store: ClaimStore,
        inbox: Inbox,
        outbox: OutboxSender,
        lease: Lease,
        history: History,
        others_live: Callable[[], object],
    ) -> None:
        """An earlier process of this name has ended. `others_live` is called with each heartbeat while there are other
        processes."""
        self._store = store
        self._lease = lease
        self._inbox = inbox
        self._outbox = outbox
        self._history = history
        self._others_live = others_live
        self._name = name
        self._named: set[str] = set()
        """Chats for which something was stored since the last look."""
        self._wanted = asyncio.Event()
        self._everything_at = 0.0
        self._beat_at = self._steady_since = 0.0
        self._closing = False
        self._background = Background("[Cluster]")
        store.hear(self._hear)

    async def start(self) -> None:
        """Join the others."""
        await self._register(starting=True)
        for task in (self._beat_always(), self._tell_always(), self._look_always()):
            self._background.spawn(task)

    async def stop_claiming(self) -> None:
        """Claim nothing more."""
        async with self._inbox.routing:
            self._closing = True

    async def leave(self) -> None:
        """Let others go on with what is left."""
        await self._background.close(0)
        with suppress(StorageFault, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._store.end()
                await self._store.tell(())

    def _hear(self, chats: Collection[str]) -> None:
        """Another process has stored something for these chats. Without chats, it has for any, or it has ended."""
        self._named.update(chats)
        if not chats:
            self._everything_at = 0.0
        self._wanted.set()

    async def _register(self, starting: bool) -> None:
        await retry_storage(self._store.register, self._name, starting)
        self._beat_at = self._steady_since = self._lease.now()
        self._everything_at = 0.0
        self._wanted.set()

    async def _beat_always(self) -> None:
        boundary = ErrorBoundary(log, "A heartbeat failed")
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._lease.lost.wait()
            with boundary:
                if self._lease.lost.is_set() or not await self._beat():
                    await self._begin_again()

    async def _beat(self) -> bool:
        """Send a heartbeat. Returns whether this process may go on."""
        began = self._lease.now()
        try:
            living = await self._store.beat()
        except StorageFault as fault:
            log.debug("No heartbeat: %s", fault)
            return True  # if others took over, the database says so later
        if began - self._beat_at > 2 * BEAT_SECONDS:
            self._steady_since = began
        self._beat_at = began
        if living > 1:
            self._others_live()
        return living > 0

    async def _begin_again(self) -> None:
        """Let go of everything, and go on as a new process."""
        log.warning("Others may have taken over what this process handled: starting again with nothing")
        async with self._inbox.routing:
            await asyncio.gather(self._inbox.abandon(), self._outbox.abandon())
            self._history.clear()
            await self._register(starting=False)

    async def _give_back(self) -> None:
        """Give back the chats that were not used for long."""
        with ErrorBoundary(log, "Chats can't be given back"):
            async with self._inbox.routing:
                if unused := self._lease.unused(UNUSED_SECONDS):
                    with suppress(StorageFault):
                        self._history.release(await self._store.release(unused))

    async def _tell_always(self) -> None:
        """Look at what was stored here, and tell others what this process does not claim."""
        while True:
            await self._lease.announced.wait()
            chats = self._lease.take_announced()
            if self._inbox.is_busy:
                await self._tell(chats)
                await asyncio.sleep(BUSY_SECONDS)
            await self._look(chats)
            await self._tell(chats.difference(self._lease.chats))

    async def _tell(self, chats: Collection[str]) -> None:
        if chats:
            with suppress(StorageFault):  # others look by themselves
                await self._store.tell(chats)

    async def _look_always(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wanted.wait()
            self._wanted.clear()
            named, self._named = self._named, set()
            await self._look(named)
            await self._give_back()

    async def _look(self, named: Collection[str]) -> None:
        """Claim and handle what waits, in these chats at least."""
        with ErrorBoundary(log, "What waits can't be claimed"):
            async with self._inbox.routing:
                if self._closing:
                    return
                try:
                    await self._claim(named)
                except StorageFault as fault:
                    log.debug("No look: %s", fault)

    async def _claim(self, named: Collection[str]) -> None:
        now = self._lease.now()
        everything = now - self._everything_at >= LOOK_SECONDS
        if everything:
            self._everything_at = now
            if now - self._beat_at < 2 * BEAT_SECONDS and now - self._steady_since > STEADY_SECONDS:
                await self._store.look_for_dead()
        held = set(self._lease.chats)
        chats = held if everything else held.intersection(named)
        more = everything or not held.issuperset(named)
        while chats or more:
            claimed: frozenset[str] = frozenset()
            if more:
                claimed = await self._store.claim(tuple(self._outbox.platforms), MAX_CLAIMS, everything)
            more = len(claimed) >= MAX_CLAIMS
            if wanted := chats | claimed:
                found = await self._store.take(wanted)
                chats_of = (each.message.chat for waiting in (found.messages, found.replies) for each in waiting)
                self._lease.add({chat.claim for chat in chats_of})
                self._outbox.take(found.replies)
                await self._inbox.route(found.messages)
            chats = set()
