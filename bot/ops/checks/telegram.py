"""The token, groups, and whoever else may be taking this bot's updates."""

from __future__ import annotations

from bot.adapters.telegram.check import TelegramSilent, check_token
from bot.adapters.telegram.options import TelegramOptions
from bot.ops.checks.finding import Finding, Inspection, fail, ok, warn
from bot.settings import Settings
from routing.errors import ConfigError

DRIFT_SECONDS = 30.0
"""Beyond this, reminders of limits, codes that last ten minutes and certificates begin to suffer."""


async def telegram(inspection: Inspection) -> list[Finding]:
    """Ask Telegram itself; nothing is taken from its queue."""
    told = inspection.environment.settings
    if told.telegram_bot_token is None and told.discord_bot_token is not None:
        return [ok("telegram", "no token, so the bot is not on Telegram")]
    if told.telegram_bot_token is None:
        mend = "Get a token from @BotFather and set TELEGRAM_BOT_TOKEN in .env; `make chat` works without one."
        return [warn("telegram", "no token, so `make run` will not start", mend)]
    try:
        report = await check_token(_options(told), inspection.network_seconds)
    except ConfigError as error:
        return [fail("telegram", str(error), "Fix that variable.")]
    except TelegramSilent as error:
        mend = "Check the internet connection, TELEGRAM_API_ROOT and TELEGRAM_PROXY."
        return [fail("telegram", f"{told.telegram_api_root} can't be reached: {error}", mend)]
    found = [ok("telegram", f"the token belongs to {report.name}"), _groups(report.joins_groups, report.reads_groups)]
    if report.server_time is not None:
        found.append(_drift(inspection.clock() - report.server_time))
    wanted = told.telegram_webhook_url is not None
    running = inspection.workspace.in_use()
    return [*found, _updates(wanted, report.webhook, report.webhook_trouble, report.pending, running)]


def _options(told: Settings) -> TelegramOptions:
    assert told.telegram_bot_token is not None
    secret = told.telegram_webhook_secret
    return TelegramOptions(
        token=told.telegram_bot_token.get_secret_value(),
        api_root=told.telegram_api_root,
        proxy=told.telegram_proxy or told.https_proxy,
        flood_limit=told.telegram_flood_limit,
        webhook_url=told.telegram_webhook_url,
        webhook_listen=told.telegram_webhook_listen,
        webhook_secret=secret.get_secret_value() if secret else "",
    )


def _groups(joins: bool, reads: bool) -> Finding:
    if not joins:
        return ok("groups", "the bot can't be added to groups (@BotFather, /setjoingroups changes that)")
    if reads:
        return ok("groups", "privacy mode is off: Telegram shows the bot every message of its groups")
    return ok(
        "groups",
        "privacy mode is on: in groups the bot sees commands, mentions of it and replies to it, which is all it "
        "answers (to change that: @BotFather, /setprivacy, then remove the bot from the group and add it again)",
    )


def _updates(wanted: bool, webhook: str, trouble: str, pending: int, running: bool) -> Finding:
    """Who takes the updates: a webhook, this bot, or somebody else."""
    if webhook and not wanted:
        mend = (
            f"If no other program of yours serves it at {webhook}, do nothing: `make run` removes the webhook. "
            "Else stop that program, or give this bot its own token."
        )
        return warn("updates", f"a webhook at {webhook} receives them, but TELEGRAM_WEBHOOK_URL is not set", mend)
    if webhook and trouble:
        mend = "Check that the address is reachable from the internet and leads to TELEGRAM_WEBHOOK_LISTEN."
        return warn("updates", f"Telegram can't deliver to {webhook}: {trouble}", mend)
    if pending and running:
        mend = (
            "Check the log: 409 means that another program is polling with this token; stop it, or ask @BotFather "
            "for a new token. Otherwise restart the bot."
        )
        return warn("updates", f"{pending} are waiting at Telegram although the bot is running", mend)
    waiting = f"{pending} are waiting at Telegram for the bot to start" if pending else "none are waiting at Telegram"
    return ok("updates", f"{waiting}, by {'webhook' if wanted else 'polling'}")


def _drift(seconds: float) -> Finding:
    if abs(seconds) <= DRIFT_SECONDS:
        return ok("clock", "agrees with Telegram's")
    way = "ahead of" if seconds > 0 else "behind"
    mend = "Turn time synchronisation on: sudo timedatectl set-ntp true"
    return warn("clock", f"{abs(seconds):.0f} s {way} Telegram's", mend)
