"""The doctor's check of Discord: the token, the message content intent, and remaining sessions. It does not connect to
the gateway."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp
import discord

from bot.adapters.discord.client import NETWORK, configure_library
from bot.adapters.discord.connection import is_refusal, refused, why
from bot.adapters.discord.settings import DiscordSettings
from bot.adapters.shared.descriptor import BotAccount, CheckContext, secret
from bot.adapters.shared.doctor import PlatformSilent, clock, unreachable
from bot.findings import Finding, fail, ok, warn
from routing.errors import ConfigError, Reason
from routing.types.messages import UserKey

SCOPES = ("bot", "applications.commands")
PERMISSIONS = discord.Permissions(
    view_channel=True,
    send_messages=True,
    send_messages_in_threads=True,
    create_public_threads=True,
    attach_files=True,
    add_reactions=True,
    read_message_history=True,
)
NO_CONTENT = (
    "The bot can't read messages in servers: turn on Message Content Intent in the developer portal (Bot). Without it, "
    "it sees only direct messages, mentions and commands."
)
FEW_STARTS = 50
"""Discord revokes the token of a bot that starts too many sessions in a day, usually 1000."""


@dataclass(frozen=True, slots=True)
class Report:
    """Discord's answers about a bot. `content`: it may read messages that do not mention it. `endpoint`: interactions
    go to a URL instead of the gateway. `starts`: sessions left today. `owner`: the person to whom the application
    belongs, or the owner of its team. `dates`: HTTP dates."""

    name: str
    servers: int
    content: bool
    endpoint: bool
    shards: int
    starts: int
    application_id: int = 0
    owner: discord.User | discord.TeamMember | None = None
    dates: tuple[str, ...] = ()


async def check(settings: DiscordSettings, context: CheckContext) -> list[Finding]:
    """Ask Discord about the token; a running bot is not affected. Raises ConfigError if it refuses the token."""
    try:
        report = await ask(settings, context.network_seconds)
    except PlatformSilent as error:
        return [unreachable("discord", settings.discord_api_root, "DISCORD_API_ROOT and DISCORD_PROXY", error)]
    return findings(report, settings.discord_sharded, context.clock())


async def identify(settings: DiscordSettings, seconds: float) -> BotAccount:
    """See `PlatformDescriptor`. Its link adds the bot to a server with everything it needs there."""
    report = await ask(settings, seconds)
    link = discord.utils.oauth_url(report.application_id, permissions=PERMISSIONS, scopes=SCOPES)
    lacks = "" if report.content else Reason(NO_CONTENT)
    if report.owner is None:
        return BotAccount(report.name, link, lacks=lacks)
    return BotAccount(report.name, link, UserKey("discord", str(report.owner.id)), report.owner.name, lacks)


async def ask(settings: DiscordSettings, seconds: float) -> Report:
    """Raises ConfigError for a refused token, PlatformSilent if there is no answer within `seconds`."""
    settings.check_discord()
    configure_library(settings)
    dates: list[str] = []

    async def note(_: aiohttp.ClientSession, __: SimpleNamespace, ended: aiohttp.TraceRequestEndParams) -> None:
        dates.append(ended.response.headers.get("Date", ""))

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(note)
    client = discord.Client(
        intents=discord.Intents.none(),
        proxy=settings.discord_proxy_used(),
        http_trace=trace,
        max_ratelimit_timeout=30.0,
    )
    try:
        async with asyncio.timeout(seconds), client:
            await client.login(secret(settings.discord_bot_token))
            shards, _, limits = await client.http.get_bot_gateway()
    except TimeoutError:
        raise PlatformSilent(f"no answer within {seconds:g} s") from None
    except (*NETWORK, discord.DiscordException) as error:
        if is_refusal(error):
            raise ConfigError(refused(settings.discord_api_root)) from None
        raise PlatformSilent(why(error)) from None
    application = client.application
    assert application is not None
    assert client.user is not None
    flags = application.flags
    return Report(
        name=client.user.name,
        servers=application.approximate_guild_count,
        content=flags.gateway_message_content or flags.gateway_message_content_limited,
        endpoint=bool(application.interactions_endpoint_url),
        shards=shards,
        starts=int(limits["remaining"]),
        application_id=application.id,
        owner=application.owner if application.team is None else application.team.owner,
        dates=tuple(dates),
    )


def findings(report: Report, sharded: bool, now: float) -> list[Finding]:
    """The findings for a report; `now` is the machine's time in Unix seconds."""
    where = f"{report.servers} server{'' if report.servers == 1 else 's'}"
    found = [ok("discord", f"the token belongs to {report.name}, which is in {where}"), _content(report)]
    if report.endpoint:
        fix = "Clear Interactions Endpoint URL in the developer portal (General Information)."
        found.append(fail("interactions", "commands and buttons go to another address instead of to this bot", fix))
    return [*found, *_sessions(report, sharded), *clock("Discord", now, report.dates)]


def _content(report: Report) -> Finding:
    if report.content:
        return ok("messages", "the bot can read messages: it sees mentions, replies and its threads")
    return warn(
        "messages",
        "the bot can't read messages: it only sees direct messages, mentions and commands",
        "Turn on Message Content Intent in the developer portal (Bot), then restart the bot.",
    )


def _sessions(report: Report, sharded: bool) -> list[Finding]:
    found = []
    if report.shards > 1 and not sharded:
        fix = "Set DISCORD_SHARDED=true."
        found.append(warn("gateway", f"Discord recommends {report.shards} connections", fix))
    if report.starts < FEW_STARTS:
        fix = "Check the log for what ends the connections, and don't restart the bot until tomorrow."
        found.append(warn("gateway", f"only {report.starts} more sessions can start today", fix))
    return found or [ok("gateway", f"{report.starts} more sessions can start today")]
