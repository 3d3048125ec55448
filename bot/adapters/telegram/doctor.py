"""The doctor's check of Telegram: the token, groups, and who receives the updates. It fetches no updates."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from telegram.error import Forbidden, InvalidToken, TelegramError

from bot.adapters.shared.descriptor import CODE, BotAccount, CheckContext, secret
from bot.adapters.shared.doctor import PlatformSilent, clock, unreachable
from bot.adapters.telegram.api import Json, Request, silence_loggers
from bot.adapters.telegram.settings import TelegramSettings
from bot.findings import Finding, ok, warn
from routing.errors import ConfigError


async def check(settings: TelegramSettings, context: CheckContext) -> list[Finding]:
    """Ask Telegram about the token. Raises ConfigError if it refuses the token."""
    dates: list[str] = []
    try:
        settings.check_telegram()
        me, hook = await _ask(settings, context.network_seconds, dates)
    except PlatformSilent as error:
        return [unreachable("telegram", settings.telegram_api_root, "TELEGRAM_API_ROOT and TELEGRAM_PROXY", error)]
    return [
        ok("telegram", f"the token belongs to @{me.get('username', '?')}"),
        _groups(bool(me.get("can_join_groups")), bool(me.get("can_read_all_group_messages"))),
        *clock("Telegram", context.clock(), dates),
        _updates(hook, settings.telegram_webhook_url is not None, context.running),
    ]


async def identify(settings: TelegramSettings, seconds: float) -> BotAccount:
    """See `PlatformDescriptor`. Its link sends the owner code with /start."""
    settings.check_telegram()
    me, _ = await _ask(settings, seconds, [])
    username = me.get("username", "?")
    return BotAccount(f"@{username}", f"https://t.me/{username}?start={CODE}")


async def _ask(settings: TelegramSettings, seconds: float, dates: list[str]) -> tuple[Json, Json]:
    """The results of getMe and getWebhookInfo; fills `dates`. Raises ConfigError for a refused token, PlatformSilent
    if there is no answer."""
    silence_loggers()

    proxy = settings.telegram_proxy_used()
    request = Request(seconds, seconds, proxy, note=lambda headers: dates.append(headers.get("Date", "")))
    base = f"{settings.telegram_api_root.rstrip('/')}/bot{secret(settings.telegram_bot_token)}"
    try:
        async with asyncio.timeout(seconds):
            me, hook = await asyncio.gather(request.post(f"{base}/getMe"), request.post(f"{base}/getWebhookInfo"))
    except TimeoutError:
        raise PlatformSilent(f"no answer within {seconds:g} s") from None
    except (InvalidToken, Forbidden):
        sentence = "Telegram refuses TELEGRAM_BOT_TOKEN; copy it whole from @BotFather, or ask there for a new one."
        raise ConfigError(sentence) from None
    except TelegramError as error:
        raise PlatformSilent(type(error.__cause__).__name__ if error.__cause__ else error.message) from None
    finally:
        await request.shutdown()
    return me if isinstance(me, dict) else {}, hook if isinstance(hook, dict) else {}


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


def _updates(hook: Json, wanted: bool, running: bool) -> Finding:
    """Who receives the updates: a webhook, this bot, or another program."""
    webhook = urlsplit(str(hook.get("url", ""))).hostname or ""
    problem, pending = str(hook.get("last_error_message", "")), int(hook.get("pending_update_count", 0))
    if webhook and not wanted:
        fix = (
            f"If no other program of yours serves it at {webhook}, do nothing: `make run` removes the webhook. "
            "Else stop that program, or give this bot its own token."
        )
        return warn("updates", f"a webhook at {webhook} receives them, but TELEGRAM_WEBHOOK_URL is not set", fix)
    if webhook and problem:
        fix = "Check that the address is reachable from the internet and leads to TELEGRAM_WEBHOOK_LISTEN."
        return warn("updates", f"Telegram can't deliver to {webhook}: {problem}", fix)
    if pending and running:
        fix = (
            "Check the log: 409 means that another program is polling with this token; stop it, or ask @BotFather "
            "for a new token. Otherwise restart the bot."
        )
        return warn("updates", f"{pending} are waiting at Telegram although the bot is running", fix)
    waiting = f"{pending} are waiting at Telegram for the bot to start" if pending else "none are waiting at Telegram"
    return ok("updates", f"{waiting}, by {'webhook' if wanted else 'polling'}")
