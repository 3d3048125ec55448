"""What people wrote while the bot was not connected: fetched in the chats where it is spoken to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import discord

from bot.adapters.discord.client import Client
from bot.adapters.discord.content import Json
from bot.adapters.discord.inbound import Me, calls, read
from bot.adapters.discord.origin import EPOCH
from bot.adapters.discord.places import PLATFORM, Place, Places
from bot.adapters.discord.trouble import NETWORK
from routing.errors import StorageFault
from routing.ports import Clock
from routing.stores import KnownChats, StateStore
from routing.types import ChatKey, InboundMessage

log = logging.getLogger(__name__)
KNOWN_SECONDS = 30 * 86400.0
"""A chat is known this long after the last word in it."""
ANSWERED_SECONDS = 47 * 3600.0
"""What is older is not answered: an hour less than the inbox can tell it from what was answered."""
OVERLAP_SECONDS = 300.0
"""Fetched anew in any case: the events of one connection say nothing of those of another."""
STATE_KEY = "discord_heard"
_PAGE = 100  # messages; the most that Discord hands out
_AT_ONCE = 4
_TRIES = 8
_REFUSED = (400, 403, 404)  # among them a forum, which holds threads and no messages
T = TypeVar("T")


class Missed(NamedTuple):
    """What was said to the bot, and where. `fresh`: after the mark, so that nobody has dealt with it yet."""

    payload: Json
    place: Place
    message: InboundMessage
    fresh: bool


class CatchUp:
    """Finds what was missed. The mark is the newest message id up to which everything was heard."""

    def __init__(
        self,
        client: Client,
        places: Places,
        chats: KnownChats,
        state: StateStore,
        clock: Clock,
        me: Callable[[], Me],
        backoff: float,
    ) -> None:
        self._client = client
        self._places = places
        self._chats = chats
        self._state = state
        self._clock = clock
        self._me = me
        self._backoff = backoff
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def known(self) -> tuple[ChatKey, ...]:
        """The channels in which somebody may have written to the bot. A person who was only ever told something by
        name is in none yet, and where somebody used their own installation the bot hears nothing."""
        known = await self._chats.known(PLATFORM, self._clock() - KNOWN_SECONDS)
        return tuple(chat for chat in known if not (chat.person or chat.visitor))

    async def mark(self) -> int:
        """The one an earlier process left; 0 without one."""
        kept = await self._state.get(STATE_KEY)
        bot_id, _, mark = (kept or "").partition(" ")
        return int(mark) if bot_id == str(self._me().id) and mark.isdecimal() else 0

    async def set_out(self) -> None:
        """Nothing is known of earlier: from now on a restart looks for what was missed."""
        await self.keep(_ids(self._clock() - EPOCH))

    async def keep(self, mark: int) -> None:
        """Make it durable; an older one does no harm."""
        try:
            await self._state.put(STATE_KEY, f"{self._me().id} {mark}")
        except StorageFault as fault:
            log.debug("the position could not be saved: %s", fault)

    async def place(self, channel_id: int) -> Place | None:
        """The place of a channel that only Discord knows; None when it does not say."""
        return await self._tried(channel_id, lambda: self._places.learn(channel_id))

    async def missed(self, channel_id: int, mark: int) -> AsyncIterator[Sequence[Missed]]:
        """What was said to the bot after the mark, oldest first, in pages; what cannot be fetched is given up in the
        end."""
        after = max(mark - _ids(OVERLAP_SECONDS), _ids(self._clock() - ANSWERED_SECONDS - EPOCH), 0)
        full = True
        while full:
            page = await self._tried(channel_id, partial(self._page, channel_id, after))
            if not page:
                return
            place = await self._tried(channel_id, lambda: self._places.locate(channel_id))
            if place is None:
                return
            yield self._read(page, place, mark)
            after, full = int(page[-1]["id"]), len(page) == _PAGE

    async def _tried(self, channel_id: int, call: Callable[[], Awaitable[T]]) -> T | None:
        """What the call gives, though Discord stumbles for some minutes; None where it refuses, or stumbles on."""
        for attempt in range(_TRIES):
            try:
                async with self._limit:
                    return await call()
            except (*NETWORK, discord.DiscordException) as error:
                if isinstance(error, discord.HTTPException) and error.status in _REFUSED:
                    log.info("Discord: skipping chat %s: %s", channel_id, error)
                    return None
                log.warning("Discord: can't read the history of channel %s (%s)", channel_id, error)
            await asyncio.sleep(self._backoff * 2**attempt)
        log.error("Discord: can't read the history of channel %s; giving up on it", channel_id)
        return None

    async def _page(self, channel_id: int, after: int) -> list[Json]:
        page = [dict(one) for one in await self._client.http.logs_from(channel_id, _PAGE, after=after)]
        return sorted(page, key=lambda one: int(one["id"]))

    def _read(self, page: Sequence[Json], place: Place, mark: int) -> list[Missed]:
        me, found = self._me(), []
        for payload in page:
            try:
                message = read(payload, place, me)
                fresh = int(payload["id"]) > mark
                said = fresh or place.private or calls(payload, me)
            except Exception as error:  # as in `receiving`: one unreadable message must not hide the others
                log.error("Discord: can't parse message %s: %s", payload.get("id"), type(error).__name__)
                continue
            # Before the mark the bot may not have taken part in this thread yet.
            if message is not None and said:
                found.append(Missed(payload, place, message, fresh))
        return found


def _ids(seconds: float) -> int:
    """How far ids go in this time."""
    return int(seconds * 1000) << 22
