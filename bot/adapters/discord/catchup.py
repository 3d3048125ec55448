"""What people wrote while the bot was not connected: fetched in the chats where it is spoken to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import discord

from bot.adapters.discord.client import Client
from bot.adapters.discord.content import Json
from bot.adapters.discord.inbound import Me, calls, read
from bot.adapters.discord.origin import EPOCH
from bot.adapters.discord.places import PLATFORM, Places
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
_PAGE, _PAGES = 100, 20
_AT_ONCE = 4
_TRIES = 8


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
        """Where somebody may have gone on. Who was only ever told something by name is in no channel yet."""
        known = await self._chats.known(PLATFORM, self._clock() - KNOWN_SECONDS)
        return tuple(chat for chat in known if not chat.person)

    async def mark(self) -> int:
        """The one an earlier process left; 0 without one."""
        kept = await self._state.get(STATE_KEY)
        bot_id, _, mark = (kept or "").partition(" ")
        return int(mark) if bot_id == str(self._me().id) and mark.isdecimal() else 0

    async def keep(self, mark: int) -> None:
        """Make it durable; an older one does no harm."""
        try:
            await self._state.put(STATE_KEY, f"{self._me().id} {mark}")
        except StorageFault as fault:
            log.debug("the mark could not be kept: %s", fault)

    async def missed(self, chat: ChatKey, mark: int) -> list[InboundMessage]:
        """What was said to the bot after the mark, oldest first; what cannot be fetched is given up in the end."""
        channel_id = int(chat.thread_id or chat.chat_id)
        after = max(mark - _ids(OVERLAP_SECONDS), _ids(self._clock() - ANSWERED_SECONDS - EPOCH), 0)
        for attempt in range(_TRIES):
            try:
                async with self._limit:
                    return await self._fetched(channel_id, after, mark)
            except (discord.Forbidden, discord.NotFound) as error:
                log.info("Discord: chat %s is passed over: %s", channel_id, error)
                return []
            except (*NETWORK, discord.DiscordException) as error:
                log.warning("Discord: what was missed in chat %s cannot be fetched (%s)", channel_id, error)
            await asyncio.sleep(self._backoff * 2**attempt)
        log.error("Discord: what was missed in chat %s is not answered", channel_id)
        return []

    async def _fetched(self, channel_id: int, after: int, mark: int) -> list[InboundMessage]:
        payloads: list[Json] = []
        for _ in range(_PAGES):
            page = [dict(one) for one in await self._client.http.logs_from(channel_id, _PAGE, after=after)]
            payloads += sorted(page, key=lambda one: int(one["id"]))
            if len(page) < _PAGE:
                break
            after = int(payloads[-1]["id"])
        else:
            log.warning("Discord: more than %d messages were missed in chat %s", _PAGE * _PAGES, channel_id)
        return await self._read(channel_id, payloads, mark) if payloads else []

    async def _read(self, channel_id: int, payloads: list[Json], mark: int) -> list[InboundMessage]:
        place, me, found = await self._places.locate(channel_id), self._me(), []
        for payload in payloads:
            try:
                message = read(payload, place, me)
                unsaid = int(payload["id"]) <= mark and not (place.private or calls(payload, me))
            except Exception as error:  # as in `receiving`: one that cannot be read must not hide the others
                log.error("Discord's message %s cannot be read: %s", payload.get("id"), type(error).__name__)
                continue
            # Before the mark the bot may not have taken part in this thread yet.
            if message is not None and not unsaid:
                found.append(message)
        return found


def _ids(seconds: float) -> int:
    """How far ids go in this time."""
    return int(seconds * 1000) << 22
