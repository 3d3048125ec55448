"""discord.py's client for this bot: events in gateway order, and calls with a timeout.

Messages and interactions stay as raw JSON. The library's objects for them need its caches, and its events run as
separate tasks, before or after READY.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from bot.adapters.discord.settings import DiscordSettings, Pace
from bot.adapters.shared.connection import parse

log = logging.getLogger(__name__)
Json = dict[str, Any]
NETWORK = (OSError, aiohttp.ClientError, TimeoutError)
CALL_TIMEOUT = aiohttp.ClientTimeout(total=20.0, sock_connect=10.0)
"""For calls that set no timeout; the library's default is five minutes."""
_ALSO_LIBRARY = ("READY", "RESUMED", "GUILD_CREATE")
"""Events that the library needs as well when we read them."""
_MAX_RATE_LIMIT_SECONDS = 30.0  # maximum wait for a 429 within a call; longer ones raise RateLimited
_CLOSE_SECONDS = 2.0  # seconds for closing; closing a dead connection may hang


class Client(discord.Client):
    """One gateway connection for the platform's lifetime."""

    def __init__(self, settings: DiscordSettings, pace: Pace) -> None:
        self._wanted = discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=True, reactions=True
        )
        self._gap = pace.identify_gap
        self._disconnected: Callable[[int], None] = lambda shard: None
        self._leaving = False
        super().__init__(
            intents=self._wanted,
            proxy=settings.discord_proxy_used(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            allowed_mentions=discord.AllowedMentions.none(),
            heartbeat_timeout=pace.silence,
            max_ratelimit_timeout=_MAX_RATE_LIMIT_SECONDS,
        )
        # The library has no option for a timeout, nor for another HTTP client.
        self.http.request = partial(_request, self.http.request)  # type: ignore[method-assign]

    def listen(self, events: Mapping[str, Callable[[Any], None]], disconnected: Callable[[int], None]) -> None:
        """Pass these gateway events on as JSON, in order. `disconnected` gets the shard of a connection that ended or
        could not be reopened. No callback may block."""
        self._disconnected = disconnected
        parsers = self._connection.parsers
        for event, library in parsers.items():
            own = events.get(event)
            readers = [library] if own is None else [library, own] if event in _ALSO_LIBRARY else [own]
            parsers[event] = partial(_read_event, event, readers)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Ignored after `leave`: the library has no event loop any more, but may still be waiting for servers."""
        if not self._leaving:
            super().dispatch(event, *args, **kwargs)

    @property
    def content(self) -> bool:
        """Whether the bot can read messages that do not mention it."""
        return self._wanted.message_content

    async def login_once(self, token: str) -> None:
        """Log in; may be called again. Raises LoginFailure, or what a call raises."""
        await self.http.close()
        self.http.connector = discord.utils.MISSING
        await self.login(token)

    def drop_content_intent(self) -> None:
        """Leave the message content intent out of the next IDENTIFY."""
        self._wanted.message_content = False

    async def setup_hook(self) -> None:
        """Ask for the message content intent only if the application has it; otherwise the gateway closes the
        connection."""
        flags = self.application_flags
        self._wanted.message_content = flags.gateway_message_content or flags.gateway_message_content_limited

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Space out logins: Discord accepts one IDENTIFY in five seconds."""
        if not initial:
            await asyncio.sleep(self._gap)

    async def on_disconnect(self) -> None:
        self._disconnected(0)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        log.exception("Discord: %s failed", event_method)

    def heartbeats(self) -> tuple[float, ...]:
        """Duration in seconds of each connection's last heartbeat; changes with each acknowledgement. Empty before the
        first connection."""
        return () if self.ws is None else (self.ws.latency,)

    async def disconnect(self) -> None:
        """Drop the gateway connections so that `connect` starts a new session; HTTP is not affected."""
        if self.ws is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self.ws.close()

    async def close(self) -> None:
        """Ignored before `leave`: the library closes the client when the gateway refuses it, but replies must
        continue."""
        if self._leaving:
            await super().close()

    async def leave(self) -> None:
        """End the session and close all connections."""
        self._leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.close()
        await self.http.close()


class ShardedClient(Client, discord.AutoShardedClient):
    """A client with the number of gateway connections that Discord recommends."""

    async def launch_shard(self, gateway: yarl.URL, shard_id: int, *, initial: bool = False) -> None:
        """Connect to the address from the settings instead of the recommended one."""
        await super().launch_shard(DiscordWebSocket.DEFAULT_GATEWAY, shard_id, initial=initial)

    async def on_disconnect(self) -> None:
        """Does nothing: `on_shard_disconnect` follows with the shard's number."""

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self._disconnected(shard_id)

    def heartbeats(self) -> tuple[float, ...]:
        return tuple(latency for _, latency in self.latencies)

    async def disconnect(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.gather(*(shard.disconnect() for shard in self.shards.values()))


def make_client(settings: DiscordSettings, pace: Pace) -> Client:
    """The client for these settings."""
    configure_library(settings)
    return (ShardedClient if settings.discord_sharded else Client)(settings, pace)


@contextlib.contextmanager
def release_rate_limit(client: discord.Client) -> Iterator[None]:
    """Context manager for calls that may be cancelled. During a global rate limit the library blocks all calls, and
    cancelling the one that waits would leave them blocked."""
    try:
        yield
    except asyncio.CancelledError:
        client.http._global_over.set()
        raise


async def _request(request: Callable[..., Awaitable[Any]], *arguments: Any, **given: Any) -> Any:
    """Make a call. A response that is not UTF-8 or not JSON, as from a proxy, raises ClientPayloadError; the library
    raises a ValueError."""
    try:
        return await request(*arguments, **{"timeout": CALL_TIMEOUT} | given)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise aiohttp.ClientPayloadError("the response can't be read") from error


def configure_library(settings: DiscordSettings) -> None:
    """Set Discord's addresses for the whole process, and silence the library's own log.

    It logs every lost connection with a traceback; `connection` reports what matters.
    """
    Route.BASE = settings.discord_api_root.rstrip("/")
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(settings.discord_gateway_url)
    logging.getLogger("discord").setLevel(logging.ERROR)
    for name in ("discord.client", "discord.shard", "discord.gateway"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _read_event(event: str, readers: Sequence[Callable[[Any], None]], payload: Any) -> None:
    """Skip an event that can't be parsed. The exception would end this connection and later ones."""
    for read in readers:
        parse("Discord", f"a {event} event", payload, partial(read, payload))
