"""Fetches messages sent while the bot was not connected, from chats in which people address it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import discord

from bot.adapters.discord.channels import PLATFORM, Channels, Place
from bot.adapters.discord.client import NETWORK, Client, Json
from bot.adapters.discord.context import EPOCH
from bot.adapters.discord.messages import BotIdentity, addresses, read
from bot.adapters.shared.connection import parse
from bot.adapters.shared.descriptor import Services
from routing.backoff import exponential
from routing.errors import StorageFault
from routing.types.messages import ChatKey, InboundMessage

log = logging.getLogger(__name__)
KNOWN_SECONDS = 30 * 86400.0
"""A chat is searched for this long after its last message."""
ANSWERED_SECONDS = 47 * 3600.0
"""Older messages are not answered, because the inbox remembers answered ones for 48 hours."""
OVERLAP_SECONDS = 300.0
"""This much is always fetched again, because the cursor covers the events of all connections together."""
STATE_KEY = "discord_heard"
_PAGE = 100  # messages; Discord's maximum
_AT_ONCE = 4
_ATTEMPTS = 8
_MAX_PAUSE_SECONDS = 3600.0
_REFUSED = (400, 403, 404)  # 400 for forums, which hold threads but no messages
T = TypeVar("T")


class Cursors:
    """The id of the last message seen per gateway connection.

    `since` maps each connection that may lack messages to the id up to which it is complete; 0 means the cursor saved
    by an earlier process.
    """

    def __init__(self) -> None:
        self.since: dict[int, int] = {}
        self._seen: dict[int, int] = {}
        self._connected: set[int] = set()

    @property
    def newest(self) -> int:
        return max(self._seen.values(), default=0)

    def saw(self, shard: int, message_id: int) -> None:
        self._seen[shard] = max(self._seen.get(shard, 0), message_id)

    def session_started(self, shard: int) -> None:
        """Note that messages after the last one seen may be missing."""
        self._connected.add(shard)
        self.since.setdefault(shard, self._seen.get(shard, 0))

    def session_resumed(self, shard: int) -> None:
        self._connected.add(shard)

    def disconnected(self, shard: int) -> None:
        self._connected.discard(shard)

    def complete(self, shards: int) -> bool:
        """Whether no message before the newest is missing. With a single connection, anything missing is newer."""
        return not self.since and (shards == 1 or len(self._connected) >= shards)


def shard_of(payload: Json) -> int:
    """The connection of a READY or RESUMED event; the library adds it to RESUMED."""
    own = payload.get("shard") or (0,)
    return int(payload.get("__shard_id__") or own[0])


class Missed(NamedTuple):
    """A message for the bot. `fresh`: it is newer than the cursor, so it can't have been handled."""

    payload: Json
    place: Place
    message: InboundMessage
    fresh: bool


class Backfill:
    """Fetches missed messages. The saved cursor is the id of the newest message with none missing before it."""

    def __init__(
        self,
        client: Client,
        channels: Channels,
        services: Services,
        me: Callable[[], BotIdentity],
        first_pause: float,
    ) -> None:
        self._client = client
        self._channels = channels
        self._chats = services.chats
        self._state = services.state
        self._clock = services.clock
        self._me = me
        self._first_pause = first_pause
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def known(self) -> tuple[ChatKey, ...]:
        """Chats in which people may have written to the bot. Excluded are places where the bot is only a person's own
        installation, which receives no messages, and direct chats that only received notices."""
        known = await self._chats.known(PLATFORM, self._clock() - KNOWN_SECONDS)
        return tuple(chat for chat in known if not (chat.person or chat.visitor))

    async def cursor(self) -> int:
        """The saved cursor; 0 if there is none."""
        kept = await self._state.get(STATE_KEY)
        bot_id, _, cursor = (kept or "").partition(" ")
        return int(cursor) if bot_id == str(self._me().id) and cursor.isdecimal() else 0

    async def start_now(self) -> None:
        """If no cursor is saved, save one, so that a restart fetches what is missed from now on."""
        await self.save(_ids(self._clock() - EPOCH))

    async def save(self, cursor: int) -> None:
        """Store the cursor. A failure is harmless, because the older one stays valid."""
        try:
            await self._state.put(STATE_KEY, f"{self._me().id} {cursor}")
        except StorageFault as fault:
            log.debug("the cursor could not be saved: %s", fault)

    async def place(self, channel_id: int) -> Place | None:
        """The place of a channel that the gateway has not listed; None if Discord does not tell."""
        return await self._attempt(channel_id, lambda: self._channels.fetch(channel_id))

    async def missed(self, channel_id: int, cursor: int) -> AsyncIterator[Sequence[Missed]]:
        """Pages of messages for the bot after the cursor, oldest first. Ends early if they can't be fetched."""
        after = max(cursor - _ids(OVERLAP_SECONDS), _ids(self._clock() - ANSWERED_SECONDS - EPOCH), 0)
        full = True
        while full:
            page = await self._attempt(channel_id, partial(self._page, channel_id, after))
            if not page:
                return
            place = await self._attempt(channel_id, lambda: self._channels.locate(channel_id))
            if place is None:
                return
            yield self._read(page, place, cursor)
            after, full = int(page[-1]["id"]), len(page) == _PAGE

    async def _attempt(self, channel_id: int, call: Callable[[], Awaitable[T]]) -> T | None:
        """Make a call, with retries for some minutes; None if Discord refuses it or keeps failing."""
        for failures in range(1, _ATTEMPTS + 1):
            try:
                async with self._limit:
                    return await call()
            except (*NETWORK, discord.DiscordException) as error:
                if isinstance(error, discord.HTTPException) and error.status in _REFUSED:
                    log.info("Discord: skipping chat %s: %s", channel_id, error)
                    return None
                log.warning("Discord: can't read the history of channel %s (%s)", channel_id, error)
            await asyncio.sleep(exponential(failures, self._first_pause, _MAX_PAUSE_SECONDS))
        log.error("Discord: can't read the history of channel %s; giving up on it", channel_id)
        return None

    async def _page(self, channel_id: int, after: int) -> list[Json]:
        page = [dict(one) for one in await self._client.http.logs_from(channel_id, _PAGE, after=after)]
        return sorted(page, key=lambda one: int(one["id"]))

    def _read(self, page: Sequence[Json], place: Place, cursor: int) -> list[Missed]:
        me = self._me()

        def missed(payload: Json) -> Missed | None:
            message = read(payload, place, me)
            fresh = int(payload["id"]) > cursor
            # The bot may have joined this thread only after messages older than the cursor.
            if message is not None and (fresh or place.private or addresses(payload, me)):
                return Missed(payload, place, message, fresh)
            return None

        found = (parse("Discord", f"message {each.get('id')}", each, partial(missed, each)) for each in page)
        return [each for each in found if each is not None]


def _ids(seconds: float) -> int:
    """How far message ids advance in this time."""
    return int(seconds * 1000) << 22
