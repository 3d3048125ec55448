"""Asks Discord about a token without connecting to the gateway: for `doctor`, beside a bot that may be running."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import SimpleNamespace

import aiohttp
import discord

from bot.adapters.discord.client import NETWORK, configure_library, proxy_for
from bot.adapters.discord.connection import is_refusal, refused, why
from bot.adapters.discord.options import DiscordOptions
from routing.errors import ConfigError, TierbotError


class DiscordSilent(TierbotError):
    """Discord could not be asked; one clause without secrets says why."""


@dataclass(frozen=True, slots=True)
class DiscordReport:
    """What Discord says of a bot. `content`: it may read messages that do not mention it; `endpoint`: interactions go
    to an address instead of the gateway; `starts`: sessions that may still begin today; `server_time` is Unix seconds,
    None when the answer has no Date."""

    name: str
    servers: int
    content: bool
    endpoint: bool
    shards: int
    starts: int
    server_time: float | None


async def check_token(options: DiscordOptions, seconds: float = 5.0) -> DiscordReport:
    """Within `seconds`. Raises ConfigError for a refused token, DiscordSilent otherwise."""
    configure_library(options)
    dates: list[str] = []
    client = discord.Client(
        intents=discord.Intents.none(), proxy=proxy_for(options), http_trace=_dating(dates), max_ratelimit_timeout=30.0
    )
    try:
        async with asyncio.timeout(seconds), client:
            await client.login(options.token)
            shards, _, limits = await client.http.get_bot_gateway()
    except TimeoutError:
        raise DiscordSilent(f"no answer within {seconds:g} s") from None
    except (*NETWORK, discord.DiscordException) as error:
        if is_refusal(error):
            raise ConfigError(refused(options.api_root)) from None
        raise DiscordSilent(why(error)) from None
    application = client.application
    assert application is not None and client.user is not None
    flags = application.flags
    return DiscordReport(
        name=client.user.name,
        servers=application.approximate_guild_count,
        content=flags.gateway_message_content or flags.gateway_message_content_limited,
        endpoint=bool(application.interactions_endpoint_url),
        shards=shards,
        starts=int(limits["remaining"]),
        server_time=_seconds(dates),
    )


def _dating(dates: list[str]) -> aiohttp.TraceConfig:
    async def note(_: aiohttp.ClientSession, __: SimpleNamespace, ended: aiohttp.TraceRequestEndParams) -> None:
        dates.append(ended.response.headers.get("Date", ""))

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(note)
    return trace


def _seconds(dates: list[str]) -> float | None:
    with contextlib.suppress(ValueError, IndexError):
        return parsedate_to_datetime(dates[-1]).timestamp()
    return None
