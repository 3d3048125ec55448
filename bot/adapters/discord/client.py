"""discord.py's client as this package uses it: one for the life of the platform, told of events in their order.

Messages and interactions come as Discord sent them. The library's objects for them would need its caches, and its
events would come one task each, behind READY or before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from bot.adapters.discord.content import Json as Json
from bot.adapters.discord.events import Listener, listen
from bot.adapters.discord.options import DiscordOptions

log = logging.getLogger(__name__)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LONGEST_LIMIT = 30.0  # seconds to sit out a 429 within a call; a longer one is raised as RateLimited
WHOLE_CALL = aiohttp.ClientTimeout(total=20.0, sock_connect=10.0)
"""Of each call that names no other; the library's own limit is five minutes."""
_HANG_UP = 2.0  # seconds for a farewell; a dead connection does not even close


class Client(discord.Client):
    """One gateway connection. `content` says whether what people write is readable without a mention."""

    def __init__(self, options: DiscordOptions, listener: Listener) -> None:
        self._wanted = discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=True, reactions=True
        )
        self._listener = listener
        self._gap = options.pace.identify_gap
        self._leaving = False
        super().__init__(
            intents=self._wanted,
            proxy=proxy_for(options),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            allowed_mentions=discord.AllowedMentions.none(),
            heartbeat_timeout=options.pace.silence,
            max_ratelimit_timeout=_LONGEST_LIMIT,
        )
        listen(self._connection.parsers, listener)
        self.http.request = partial(self.http.request, timeout=WHOLE_CALL)  # type: ignore[method-assign]

    @property
    def content(self) -> bool:
        return self._wanted.message_content

    async def enter(self, token: str) -> None:
        """Log in, again if it failed before. Raises LoginFailure, or what a call raises."""
        await self.http.close()
        self.http.connector = discord.utils.MISSING
        await self.login(token)

    def do_without_content(self) -> None:
        """From the next IDENTIFY on."""
        self._wanted.message_content = False

    async def setup_hook(self) -> None:
        """Asking for an intent that the application has not been given would close the gateway."""
        flags = self.application_flags
        self._wanted.message_content = flags.gateway_message_content or flags.gateway_message_content_limited

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Discord takes one IDENTIFY in five seconds."""
        if not initial:
            await asyncio.sleep(self._gap)

    async def on_disconnect(self) -> None:
        self._listener.lost(0)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        self._listener.removed(guild.name)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        log.exception("Discord: %s failed", event_method)

    def acknowledgements(self) -> tuple[float, ...]:
        """How long the last heartbeat of each connection took; a number changes with every acknowledged one."""
        return (self.latency,)

    async def hang_up(self) -> None:
        """Drop the gateway connections, so that `connect` begins anew; HTTP goes on."""
        if self.ws is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_HANG_UP):
                    await self.ws.close()

    async def close(self) -> None:
        """The library calls this when the gateway refuses it; replies must still go out then. `leave` is the end."""
        if self._leaving:
            await super().close()

    async def leave(self) -> None:
        """End the session and close every connection."""
        self._leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HANG_UP):
                await self.close()
        await self.http.close()


class ShardedClient(Client, discord.AutoShardedClient):
    """Open as many gateway connections as Discord recommends."""

    async def launch_shard(self, gateway: yarl.URL, shard_id: int, *, initial: bool = False) -> None:
        """At the address from the options; `gateway` is the one that came with the recommendation."""
        await super().launch_shard(DiscordWebSocket.DEFAULT_GATEWAY, shard_id, initial=initial)

    async def on_disconnect(self) -> None:
        """Said once more with the number."""

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self._listener.lost(shard_id)

    def acknowledgements(self) -> tuple[float, ...]:
        return tuple(latency for _, latency in self.latencies)

    async def hang_up(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HANG_UP):
                await asyncio.gather(*(shard.disconnect() for shard in self.shards.values()))


def make_client(options: DiscordOptions, listener: Listener) -> Client:
    """The client for these options."""
    point(options)
    return (ShardedClient if options.sharded else Client)(options, listener)


@contextlib.contextmanager
def unlocking(client: discord.Client) -> Iterator[None]:
    """Around calls that may be given up. While the library sits out a global rate limit it holds back all calls; given
    up in that time, it would hold them back for ever."""
    try:
        yield
    except asyncio.CancelledError:
        client.http._global_over.set()
        raise


def point(options: DiscordOptions) -> None:
    """Tell the library where Discord is, for the whole process, and to be quiet: it logs every lost connection with a
    traceback, and what matters of that is said in `trouble`."""
    Route.BASE = options.api_root.rstrip("/")
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(options.gateway_url)
    logging.getLogger("discord").setLevel(logging.ERROR)
    for name in ("discord.client", "discord.shard", "discord.gateway"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def proxy_for(options: DiscordOptions) -> str | None:
    """None for a server of one's own."""
    return None if urlsplit(options.api_root).hostname in LOOPBACK else options.proxy
