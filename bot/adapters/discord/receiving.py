"""From the gateway's messages to accepted ones, in order for each channel.

Discord keeps nothing for a bot that has it from the gateway: until a message is accepted it waits here, and the mark
from which an earlier process would look for it stays where it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

import discord

from bot.adapters.discord import inbound
from bot.adapters.discord.catchup import CatchUp
from bot.adapters.discord.content import Json
from bot.adapters.discord.inbound import Me
from bot.adapters.discord.lanes import Lanes
from bot.adapters.discord.places import Place, Places
from bot.adapters.discord.threads import Threads
from bot.adapters.discord.trouble import NETWORK, Trouble
from bot.platform import Accept, Progress
from handlers.patience import patiently
from routing.ports import Clock
from routing.types import ChatKey, InboundMessage

log = logging.getLogger(__name__)
MARK_SECONDS = 60.0
"""How often the mark is made durable at most."""


class Receiver:
    """`began`, `message` and `edited` return at once; what they brought is accepted in the background."""

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
    ) -> None:
        self._me = me
        self._accept = accept
        self._places = places
        self._threads = threads
        self._catchup = catchup
        self._progress = progress
        self._trouble = trouble
        self._clock = clock
        self._gate = asyncio.Event()
        self._gate.set()
        self._lanes = Lanes(self._gate, self._on_idle)
        self._beginning: set[asyncio.Task[None]] = set()
        self._heard = 0
        self._since: int | None = None
        """While something may be missing: up to where everything was heard, 0 for what an earlier process left."""
        self._kept = 0
        self._kept_at = 0.0

    def began(self) -> None:
        """A new session: what was said before it may be missing, and is to be accepted before what comes now."""
        if self._since is None:
            self._since = self._heard
        self._gate.clear()
        task = asyncio.create_task(self._begin())
        self._beginning.add(task)
        task.add_done_callback(self._begun)

    def message(self, payload: Json) -> None:
        self._heard = max(self._heard, int(payload["id"]))
        self._put(payload, inbound.read)

    def edited(self, payload: Json) -> None:
        self._put(payload, inbound.edited)

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
        place = self._find(payload)
        if place is None:
            try:
                place = await self._places.learn(int(payload["channel_id"]))
            except (*NETWORK, discord.DiscordException) as error:
                log.warning("Discord: channel %s cannot be looked up (%s)", payload["channel_id"], error)
                return
        message = read(payload, place, self._me())
        if message is not None and self._threads.begins(payload, place, message):
            message = await self._threads.open(message)
        await self._keep([message] if message is not None else [])

    def _find(self, payload: Json) -> Place | None:
        guild_id, kind = payload.get("guild_id"), payload.get("channel_type")
        return self._places.find(int(payload["channel_id"]), int(guild_id) if guild_id else None, kind)

    async def _begin(self) -> None:
        """Find out where something may be missing, then let the lanes go on."""
        mark: int = self._since if self._since else await patiently(self._catchup.mark)
        self._since = mark
        chats = await patiently(self._catchup.known)
        self._places.join(chats)
        for chat in chats if mark else ():
            self._lanes.put(int(chat.thread_id or chat.chat_id), partial(self._catch_up, chat, mark), ahead=True)

    def _begun(self, task: asyncio.Task[None]) -> None:
        self._beginning.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Discord: what was missed cannot be looked for", exc_info=error)
        if not self._beginning and not task.cancelled():
            self._gate.set()
            self._since = None if self._lanes.idle else self._since

    async def _catch_up(self, chat: ChatKey, mark: int) -> None:
        await self._keep(await self._catchup.missed(chat, mark))

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
                self._places.join(message.chat for message in messages)
                self._progress.last_update = self._clock()
                return

    async def _on_idle(self) -> None:
        if self._gate.is_set():
            self._since = None
            await self._note(MARK_SECONDS)

    async def _note(self, every: float) -> None:
        """Make the mark durable when nothing is missing."""
        complete = self._since is None and self._lanes.idle
        if complete and self._heard > self._kept and self._clock() - self._kept_at >= every:
            self._kept, self._kept_at = self._heard, self._clock()
            await self._catchup.keep(self._kept)
