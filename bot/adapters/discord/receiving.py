"""From the gateway's messages to accepted ones, in order for each channel.

Discord keeps nothing for a bot that has it from the gateway: until a message is accepted it waits here, and the mark
from which an earlier process would look for it stays where it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from bot.adapters.discord import inbound, reactions
from bot.adapters.discord.catchup import CatchUp
from bot.adapters.discord.content import Json
from bot.adapters.discord.inbound import Me
from bot.adapters.discord.lanes import Lanes
from bot.adapters.discord.marks import Marks, shard_of
from bot.adapters.discord.places import PLATFORM, Place, Places
from bot.adapters.discord.threads import Threads
from bot.adapters.discord.trouble import Trouble
from bot.platform import Accept, Progress
from handlers.patience import patiently
from routing.ports import Clock
from routing.types import ChatKey, InboundMessage

log = logging.getLogger(__name__)
MARK_SECONDS = 60.0
"""How often the mark is made durable at most."""


class Receiver:
    """What the gateway brings is accepted in the background; nothing here but `stop` waits."""

    def __init__(
        self,
        me: Callable[[], Me],
        accept: Accept,
        places: Places,
        threads: Threads,
        catchup: CatchUp,
        progress: Progress,
        trouble: Trouble,
        clock: Clock,
        steady: Clock,
    ) -> None:
        self._me = me
        self._accept = accept
        self._places = places
        self._threads = threads
        self._catchup = catchup
        self._progress = progress
        self._trouble = trouble
        self._clock = clock
        self._steady = steady
        self._gate = asyncio.Event()
        self._gate.set()
        self._lanes = Lanes(self._gate, self._on_idle)
        self._beginning: set[asyncio.Task[None]] = set()
        self._marks = Marks()
        self._awaited: dict[int, int] = {}
        """Guilds of new sessions that the gateway has not told of yet; from which mark on they are looked into."""
        self._arrived: list[Json] = []
        self._kept = 0
        self._kept_at = 0.0

    def began(self, payload: Json) -> None:
        """A new session: what was said before it may be missing, and is to be accepted before what comes now."""
        shard = shard_of(payload)
        self._marks.began(shard)
        self._gate.clear()
        task = asyncio.create_task(self._begin(shard, [int(guild["id"]) for guild in payload.get("guilds") or ()]))
        self._beginning.add(task)
        task.add_done_callback(self._begun)

    def resumed(self, payload: Json) -> None:
        self._marks.resumed(shard_of(payload))

    def lost(self, shard: int) -> None:
        self._marks.lost(shard)

    def arrived(self, payload: Json) -> None:
        """A guild: in channels where the bot was never spoken to something may have been missed, too."""
        if self._beginning:
            self._arrived.append(payload)
        elif mark := self._awaited.pop(int(payload["id"]), 0):
            for channel in [*(payload.get("channels") or ()), *(payload.get("threads") or ())]:
                channel_id = int(channel["id"])
                if int(channel.get("last_message_id") or 0) > mark and self._places.readable(channel_id):
                    self._look(channel_id, mark)

    def message(self, payload: Json) -> None:
        guild_id = payload.get("guild_id")
        self._marks.hear(self._places.shard(int(guild_id) if guild_id else None), int(payload["id"]))
        self._put(payload, inbound.read)

    def edited(self, payload: Json) -> None:
        self._put(payload, inbound.edited)

    def reacted(self, payload: Json, gone: bool) -> None:
        if reactions.meant(payload, self._me()):
            self._lanes.put(int(payload["channel_id"]), partial(self._react, payload, gone))

    async def stop(self, grace: float) -> None:
        """Accept what has come within `grace` seconds; the next start looks for the rest."""
        for task in self._beginning:
            task.cancel()
        await self._lanes.close(grace)
        await self._note(0.0)

    def _put(self, payload: Json, read: inbound.Read) -> None:
        """Most of what is said in guilds is not for the bot, and ends here."""
        channel_id, place = int(payload["channel_id"]), self._find(payload)
        if not inbound.said(payload):
            return
        if place is None and not inbound.calls(payload, self._me()):
            return  # a thread that nobody called the bot into
        if place is None or channel_id in self._lanes or read(payload, place, self._me()) is not None:
            self._lanes.put(channel_id, partial(self._take, payload, read))

    async def _take(self, payload: Json, read: inbound.Read) -> None:
        channel_id, guild_id = int(payload["channel_id"]), payload.get("guild_id")
        place = self._find(payload) or await self._catchup.place(channel_id)
        if place is None:  # said to the bot all the same: it is answered there
            place = Place(ChatKey(PLATFORM, str(channel_id)), self._places.guild(guild_id), private=not guild_id)
        message = read(payload, place, self._me())
        if message is not None:
            await self._keep([await self._threaded(payload, place, message)])

    async def _react(self, payload: Json, gone: bool) -> None:
        place = self._find(payload) or await self._catchup.place(int(payload["channel_id"]))
        if place is not None:
            await self._keep([reactions.read(payload, place, self._me(), self._clock(), gone)])

    async def _threaded(self, payload: Json, place: Place, message: InboundMessage) -> InboundMessage:
        """The message in a thread of its own, where one is to begin. Until it is accepted the mark stays before it."""
        return await self._threads.open(message) if self._threads.begins(payload, place, message) else message

    def _find(self, payload: Json) -> Place | None:
        guild_id, kind = payload.get("guild_id"), payload.get("channel_type")
        return self._places.find(int(payload["channel_id"]), int(guild_id) if guild_id else None, kind)

    async def _begin(self, shard: int, guilds: Sequence[int]) -> None:
        """Find out where something may be missing, then let the lanes go on. A thread's channel is looked into, too: a
        question there may be to begin another."""
        mark = self._marks.since.get(shard) or await patiently(self._catchup.mark)
        chats = await patiently(self._catchup.known)
        self._places.join(chats)
        if not mark:
            await self._catchup.set_out()
            return
        self._marks.since[shard] = mark
        self._awaited = dict.fromkeys(guilds, mark) | self._awaited
        for channel_id in {int(each) for chat in chats for each in (chat.chat_id, chat.thread_id) if each}:
            if self._places.shard_of(channel_id) in (None, shard):
                self._look(channel_id, mark)

    def _begun(self, task: asyncio.Task[None]) -> None:
        self._beginning.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Discord: can't look for missed messages", exc_info=error)
        if not self._beginning and not task.cancelled():
            self._gate.set()
            arrived, self._arrived = self._arrived, []
            for payload in arrived:
                self.arrived(payload)
            if self._lanes.idle:
                self._marks.since.clear()

    def _look(self, channel_id: int, mark: int) -> None:
        """For what was missed there, before anything else from there is accepted."""
        self._lanes.put(channel_id, partial(self._catch_up, channel_id, mark), ahead=True)

    async def _catch_up(self, channel_id: int, mark: int) -> None:
        async for page in self._catchup.missed(channel_id, mark):
            messages = [
                await self._threaded(missed.payload, missed.place, missed.message) if missed.fresh else missed.message
                for missed in page
            ]
            await self._keep(messages)

    async def _keep(self, messages: Sequence[InboundMessage]) -> None:
        """Returns once they are durable, however long that takes."""
        failed = False
        while messages:
            try:
                await self._accept(messages)
            except Exception as error:
                # Any failure, a full disk as well as a bug, has one consequence: it is tried again.
                log.debug("accepting failed", exc_info=True)
                failed = True
                await asyncio.sleep(self._trouble.with_accepting(error))
            else:
                if failed:
                    self._trouble.over()
                self._places.join(message.chat for message in messages if message.kind != "reaction")
                self._progress.last_update = self._steady()
                return

    async def _on_idle(self) -> None:
        if self._gate.is_set():
            self._marks.since.clear()
            await self._note(MARK_SECONDS)

    async def _note(self, every: float) -> None:
        """Make the mark durable when nothing is missing."""
        newest = self._marks.newest
        complete = self._lanes.idle and self._marks.complete(self._places.shards)
        if complete and newest > self._kept and self._steady() - self._kept_at >= every:
            self._kept, self._kept_at = newest, self._steady()
            await self._catchup.keep(newest)
