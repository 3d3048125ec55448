"""Asks Telegram about a token without taking any update: for `doctor`, beside a bot that may be running."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
from telegram.error import Forbidden, InvalidToken, TelegramError

from bot.adapters.telegram.api import LOOPBACK, Request, quiet
from bot.adapters.telegram.options import TelegramOptions
from routing.errors import ConfigError, TierbotError


class TelegramSilent(TierbotError):
    """Telegram could not be asked; one clause without secrets says why."""


@dataclass(frozen=True, slots=True)
class TelegramReport:
    """What Telegram says of a bot. `server_time` is Unix seconds, None when the answer has no Date."""

    name: str
    joins_groups: bool
    reads_groups: bool
    webhook: str
    webhook_trouble: str
    pending: int
    server_time: float | None


async def check_token(options: TelegramOptions, seconds: float = 5.0) -> TelegramReport:
    """getMe and getWebhookInfo, within `seconds`. Raises ConfigError for a refused token, TelegramSilent otherwise."""
    quiet()
    dates: list[str] = []

    async def note(response: httpx.Response) -> None:
        dates.append(response.headers.get("date", ""))

    request = _request(options, seconds, note)
    base = f"{options.api_root.rstrip('/')}/bot{options.token}"
    try:
        async with asyncio.timeout(seconds):
            me, hook = await asyncio.gather(_ask(request, f"{base}/getMe"), _ask(request, f"{base}/getWebhookInfo"))
    except TimeoutError:
        raise TelegramSilent(f"no answer within {seconds:g} s") from None
    except (InvalidToken, Forbidden):
        sentence = "Telegram refuses TELEGRAM_BOT_TOKEN; copy it whole from @BotFather, or ask there for a new one."
        raise ConfigError(sentence) from None
    except TelegramError as error:
        raise TelegramSilent(type(error.__cause__).__name__ if error.__cause__ else error.message) from None
    finally:
        await request.shutdown()
    return TelegramReport(
        name=f"@{me.get('username', '?')}",
        joins_groups=bool(me.get("can_join_groups")),
        reads_groups=bool(me.get("can_read_all_group_messages")),
        webhook=urlsplit(str(hook.get("url", ""))).hostname or "",
        webhook_trouble=str(hook.get("last_error_message", "")),
        pending=int(hook.get("pending_update_count", 0)),
        server_time=_seconds(dates),
    )


def _request(options: TelegramOptions, seconds: float, note: Any) -> Request:
    own = urlsplit(options.api_root).hostname in LOOPBACK
    try:
        return Request(
            read_timeout=seconds,
            connect_timeout=seconds,
            proxy=None if own else options.proxy,
            httpx_kwargs={"trust_env": False, "event_hooks": {"response": [note]}},
        )
    except (RuntimeError, ValueError, httpx.InvalidURL):
        raise ConfigError("TELEGRAM_PROXY cannot be used; write http://host:port.") from None


async def _ask(request: Request, url: str) -> dict[str, Any]:
    result = await request.post(url)
    return result if isinstance(result, dict) else {}


def _seconds(dates: list[str]) -> float | None:
    with contextlib.suppress(ValueError, IndexError):
        return parsedate_to_datetime(dates[0]).timestamp()
    return None
