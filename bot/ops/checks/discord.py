"""The Discord token, what the application may read, and how many more sessions may begin."""

from __future__ import annotations

from bot.adapters.discord.check import DiscordReport, DiscordSilent, check_token
from bot.adapters.discord.options import DiscordOptions
from bot.ops.checks.finding import Finding, Inspection, fail, ok, warn
from bot.settings import Settings
from routing.errors import ConfigError

DRIFT_SECONDS = 30.0
"""Beyond this the quarter of an hour in which an interaction can be answered is judged wrongly."""
FEW_STARTS = 50
"""Discord takes the token away from a bot that begins more sessions in a day than it may, usually 1000."""


async def discord(inspection: Inspection) -> list[Finding]:
    """Ask Discord itself; a bot that runs is not disturbed."""
    told = inspection.environment.settings
    if told.discord_bot_token is None:
        return [ok("discord", "no token, so the bot is not on Discord")]
    try:
        report = await check_token(_options(told), inspection.network_seconds)
    except ConfigError as error:
        return [fail("discord", str(error), "Fix that variable.")]
    except DiscordSilent as error:
        mend = "Check the internet connection, DISCORD_API_ROOT and DISCORD_PROXY."
        return [fail("discord", f"{told.discord_api_root} can't be reached: {error}", mend)]
    return judged(report, told.discord_sharded, inspection.clock())


def judged(report: DiscordReport, sharded: bool, now: float) -> list[Finding]:
    """What Discord's answers mean; `now` is the machine's time."""
    where = f"{report.servers} server{'' if report.servers == 1 else 's'}"
    found = [ok("discord", f"the token belongs to {report.name}, which is in {where}"), _content(report)]
    if report.endpoint:
        mend = "Clear Interactions Endpoint URL in the developer portal (General Information)."
        found.append(fail("interactions", "commands and buttons go to another address instead of to this bot", mend))
    found += _sessions(report, sharded)
    return found if report.server_time is None else [*found, _drift(now - report.server_time)]


def _options(told: Settings) -> DiscordOptions:
    assert told.discord_bot_token is not None
    return DiscordOptions(
        token=told.discord_bot_token.get_secret_value(),
        api_root=told.discord_api_root,
        gateway_url=told.discord_gateway_url,
        proxy=told.discord_proxy or told.https_proxy,
        sharded=told.discord_sharded,
        thread_per_mention=told.discord_threads,
    )


def _content(report: DiscordReport) -> Finding:
    if report.content:
        return ok("messages", "the bot can read messages: it sees mentions, replies and its threads")
    return warn(
        "messages",
        "the bot can't read messages: it only sees direct messages, mentions and commands",
        "Turn on Message Content Intent in the developer portal (Bot), then restart the bot.",
    )


def _sessions(report: DiscordReport, sharded: bool) -> list[Finding]:
    found = []
    if report.shards > 1 and not sharded:
        mend = "Set DISCORD_SHARDED=true."
        found.append(warn("gateway", f"Discord recommends {report.shards} connections", mend))
    if report.starts < FEW_STARTS:
        mend = "Check the log for what ends the connections, and don't restart the bot until tomorrow."
        found.append(warn("gateway", f"only {report.starts} more sessions can start today", mend))
    return found or [ok("gateway", f"{report.starts} more sessions can start today")]


def _drift(seconds: float) -> Finding:
    if abs(seconds) <= DRIFT_SECONDS:
        return ok("clock", "agrees with Discord's")
    way = "ahead of" if seconds > 0 else "behind"
    mend = "Turn time synchronisation on: sudo timedatectl set-ntp true"
    return warn("clock", f"{abs(seconds):.0f} s {way} Discord's", mend)
