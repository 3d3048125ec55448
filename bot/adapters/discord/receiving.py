"""From gateway events to accepted messages, in order for each channel.

Discord keeps nothing for a bot: until a message is accepted, it waits here, and the saved cursor stays before it, so
that the next process fetches it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from bot.adapters.discord import messages
from bot.adapters.discord.backfill import Backfill, Cursors, shard_of
from bot.adapters.discord.channels import PLATFORM, Channels, Place
from bot.adapters.discord.client import Json
from bot.adapters.discord.connection import DiscordBackoff
from bot.adapters.discord.messages import BotIdentity
from bot.adapters.shared.keyed_queue import Job, KeyedQueue
from bot.platform import Accept
from handlers.storage_retry import retry_storage
from routing.error_boundary import ErrorBoundary
from routing.errors import StorageFault
from routing.ports import Clock
from routing.types.messages import ChatKey, InboundMessage

log = logging.getLogger(__name__)
SAVE_SECONDS = 60.0
"""The cursor is saved at most this often."""


class Receiver:
    """Accepts messages in the background; only `stop` waits."""

    def __init__(
        self,
        me: Callable[[], BotIdentity],
        accept: Accept,
        channels: Channels,
        backfill: Backfill,
        backoff: DiscordBackoff,
        clock: Clock,
        steady: Clock,
    ) -> None:
        self._me = me
        self._accept = accept
        self._channels = channels
        self._backfill = backfill
        self._backoff = backoff
        self._clock = clock
        self._steady = steady
        self._open = asyncio.Event()
        """Cleared while it is not known yet which channels need a backfill, which goes before new messages."""
        self._open.set()
        self._queue: KeyedQueue[int, Job] = KeyedQueue("Discord", self._next, self._on_idle)
        self._starting: set[asyncio.Task[None]] = set()
        self._cursors = Cursors()
        self._new_guilds: dict[int, int] = {}
        """Guilds of new sessions whose GUILD_CREATE has not come yet, with the cursor for their backfill."""
        self._early_guilds: list[Json] = []
        self._saved = 0
        self._saved_at = 0.0

    def session_started(self, payload: Json) -> None:
        """Messages may be missing; they are accepted before those that come now."""
        shard = shard_of(payload)
        self._cursors.session_started(shard)
        self._open.clear()
        task = asyncio.create_task(self._start(shard, [int(guild["id"]) for guild in payload.get("guilds") or ()]))
        self._starting.add(task)
        task.add_done_callback(self._started)

    def session_resumed(self, payload: Json) -> None:
        self._cursors.session_resumed(shard_of(payload))

    def disconnected(self, shard: int) -> None:
        self._cursors.disconnected(shard)

    def guild_created(self, payload: Json) -> None:
        """Backfill channels in which the bot was never addressed, if somebody has written there since the cursor."""
        if self._starting:
            self._early_guilds.append(payload)
        elif cursor := self._new_guilds.pop(int(payload["id"]), 0):
            for channel in [*(payload.get("channels") or ()), *(payload.get("threads") or ())]:
                channel_id = int(channel["id"])
                if int(channel.get("last_message_id") or 0) > cursor and self._channels.readable(channel_id):
                    self._fetch_missed(channel_id, cursor)

    def message_created(self, payload: Json) -> None:
        guild_id = payload.get("guild_id")
        self._cursors.saw(self._channels.shard(int(guild_id) if guild_id else None), int(payload["id"]))
        self._put(payload, messages.read)

    def message_edited(self, payload: Json) -> None:
        self._put(payload, messages.read_edit)

    def reaction_changed(self, payload: Json, removed: bool) -> None:
        if messages.is_rating(payload, self._me()):
            self._queue.put(int(payload["channel_id"]), partial(self._take_reaction, payload, removed))

    async def stop(self, grace: float) -> None:
        """Accept what has come within `grace` seconds; the next start fetches the rest."""
        for task in self._starting:
            task.cancel()
        await self._queue.join(grace)
        await self._queue.close()
        await self._save_cursor(0.0)

    def _put(self, payload: Json, read: messages.Read) -> None:
        """Most messages on servers are not for the bot and end here."""
        channel_id, place = int(payload["channel_id"]), self._find(payload)
        if not messages.is_from_person(payload):
            return
        if place is None and not messages.addresses(payload, self._me()):
            return  # a thread that the bot has not joined
        if place is None or channel_id in self._queue or read(payload, place, self._me()) is not None:
            self._queue.put(channel_id, partial(self._take, payload, read))

    async def _next(self, channel_id: int) -> None:
        await self._open.wait()
        await self._queue.take(channel_id)()

    async def _take(self, payload: Json, read: messages.Read) -> None:
        channel_id, guild_id = int(payload["channel_id"]), payload.get("guild_id")
        place = self._find(payload) or await self._backfill.place(channel_id)
        if place is None:  # it addresses the bot, so it is answered all the same
            place = Place(ChatKey(PLATFORM, str(channel_id)), self._channels.guild(guild_id), private=not guild_id)
        message = read(payload, place, self._me())
        if message is not None:
            await self._save([await self._in_thread(payload, place, message)])

    async def _take_reaction(self, payload: Json, removed: bool) -> None:
        place = self._find(payload) or await self._backfill.place(int(payload["channel_id"]))
        if place is not None:
            await self._save([messages.read_reaction(payload, place, self._me(), self._clock(), removed)])

    async def _in_thread(self, payload: Json, place: Place, message: InboundMessage) -> InboundMessage:
        return (
            await self._channels.open_thread(message)
            if self._channels.starts_thread(payload, place, message)
            else message
        )

    def _find(self, payload: Json) -> Place | None:
        guild_id, kind = payload.get("guild_id"), payload.get("channel_type")
        return self._channels.find(int(payload["channel_id"]), int(guild_id) if guild_id else None, kind)

    async def _start(self, shard: int, guilds: Sequence[int]) -> None:
        """Find the channels that need a backfill. A thread's parent is one of them: a question there may start a new
        thread."""
        cursor = self._cursors.since.get(shard) or await retry_storage(self._backfill.cursor)
        chats = await retry_storage(self._backfill.known)
        self._channels.join(chats)
        if not cursor:
            await self._backfill.start_now()
            return
        self._cursors.since[shard] = cursor
        self._new_guilds = dict.fromkeys(guilds, cursor) | self._new_guilds
        for channel_id in {int(each) for chat in chats for each in (chat.chat_id, chat.thread_id) if each}:
            if self._channels.shard_of(channel_id) in (None, shard):
                self._fetch_missed(channel_id, cursor)

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Discord: can't look for missed messages", exc_info=error)
        if not self._starting and not task.cancelled():
            self._open.set()
            early, self._early_guilds = self._early_guilds, []
            for payload in early:
                self.guild_created(payload)
            if not self._queue:
                self._cursors.since.clear()

    def _fetch_missed(self, channel_id: int, cursor: int) -> None:
        self._queue.put(channel_id, partial(self._take_missed, channel_id, cursor), ahead=True)

    async def _take_missed(self, channel_id: int, cursor: int) -> None:
        async for page in self._backfill.missed(channel_id, cursor):
            await self._save(
                [
                    await self._in_thread(missed.payload, missed.place, missed.message)
                    if missed.fresh
                    else missed.message
                    for missed in page
                ]
            )

    async def _save(self, accepted: Sequence[InboundMessage]) -> None:
        """Return once they are durable, however long that takes."""
        boundary = ErrorBoundary(log, "Discord: accepting messages failed")
        failure: BaseException | None = None
        while accepted:
            with boundary:
                try:
                    await self._accept(accepted)
                    break
                except StorageFault as error:
                    failure = error
            failure = boundary.error or failure
            assert failure is not None
            await asyncio.sleep(self._backoff.saving_failed(failure))
        if failure is not None:
            self._backoff.recovered()
        self._channels.join(message.chat for message in accepted if message.kind != "reaction")

    async def _on_idle(self) -> None:
        if self._open.is_set():
            self._cursors.since.clear()
            await self._save_cursor(SAVE_SECONDS)

    async def _save_cursor(self, every: float) -> None:
        """Save the cursor if nothing is missing and the last time is `every` seconds ago."""
        newest = self._cursors.newest
        complete = not self._queue and self._cursors.complete(self._channels.shards)
        if complete and newest > self._saved and self._steady() - self._saved_at >= every:
            self._saved, self._saved_at = newest, self._steady()
            await self._backfill.save(newest)
