"""What is wrong with receiving, said once, and how long to wait before the next try."""

from __future__ import annotations

import logging
from typing import Protocol

import aiohttp
import discord

from bot.adapters.discord.options import OFFICIAL_ROOT, Pace
from bot.platform import Progress
from routing.errors import Reason, TierbotError

log = logging.getLogger(__name__)

REVOKED = "Discord refuses the token; set a valid DISCORD_BOT_TOKEN and restart"
BLIND = (
    "the app can't read messages, so I only see direct messages, mentions and commands; to change that, "
    "turn on Message Content Intent in the developer portal (Bot) and restart"
)
SHARDS = "Discord asks for sharding; set DISCORD_SHARDED=true and restart"
CLOSED = "Discord closed the connection ({code})"
_REFUSED, _SHARDING = 4004, 4011  # the gateway's close codes
_UNPLANNED = 4  # times the longest wait after what nobody foresaw: an IDENTIFY has its price, there are 1000 a day
NETWORK = (OSError, aiohttp.ClientError, TimeoutError)


class Alert(Protocol):
    """Given a sentence that the owners are to read; an empty one when all is well."""

    def __call__(self, template: str, /, **values: object) -> None: ...


class Trouble:
    """Logs each kind once, keeps it in `progress`; the waits grow until `over`. `alarm` is given what the owners have
    to mend, and nothing once that is done."""

    def __init__(self, progress: Progress, pace: Pace, alarm: Alert) -> None:
        self._progress = progress
        self._pace = pace
        self._alarm = alarm
        self._standing = ""
        self._streak = 0

    def over(self) -> None:
        """All is well, but for what the owner has to change."""
        self._streak = 0
        if self._progress.trouble not in ("", self._standing):
            log.info("Discord works again")
        self._progress.trouble = self._standing
        self._alarm(self._standing and f"⚠️ Discord: {self._standing}")

    def blind(self, blind: bool) -> None:
        """Whether the message-content intent is missing."""
        if blind and not self._standing:
            log.warning("Discord: %s", BLIND)
        self._standing = BLIND if blind else ""

    def with_accepting(self, error: Exception) -> float:
        """Seconds to wait after messages could not be kept."""
        why = str(error).rstrip(".") if isinstance(error, TierbotError) else type(error).__name__
        self._tell(Reason("messages can't be saved ({error}); they wait in memory until they can", error=why))
        return self._growing(self._pace.longest_backoff)

    def with_connection(self, error: BaseException) -> float:
        """Seconds to wait after logging in failed, or the connection ended for good."""
        closed = error.code if isinstance(error, discord.ConnectionClosed) else None
        if closed is not None or is_refusal(error):
            template = {_REFUSED: REVOKED, None: REVOKED, _SHARDING: SHARDS}.get(closed, CLOSED)
            self._tell(Reason(template, code=closed))
            self._alarm(f"⚠️ {template}", code=closed)
            return self._pace.revoked
        cause = _cause(error)
        if isinstance(cause, discord.RateLimited):
            return cause.retry_after
        self._tell(Reason("no connection to Discord ({error})", error=why(cause)), logging.WARNING)
        if isinstance(cause, (*NETWORK, discord.HTTPException)):
            return self._growing(self._pace.longest_backoff)
        log.debug("the connection broke", exc_info=error)
        return self._growing(self._pace.longest_backoff * _UNPLANNED)

    def disconnected(self) -> None:
        """The connection could not be made again at once."""
        self._tell(Reason("no connection to Discord (trying again)"), logging.WARNING)

    def _growing(self, longest: float) -> float:
        self._streak += 1
        return min(self._pace.backoff * 2.0 ** min(self._streak - 1, 10), longest)

    def _tell(self, text: str, level: int = logging.ERROR) -> None:
        if self._progress.trouble.partition("(")[0] != text.partition("(")[0]:
            self._streak = 0
            log.log(level, "Discord: %s", text)
        self._progress.trouble = text


def refused(api_root: str) -> str:
    """The sentence for a token that does not even log in."""
    own = "" if api_root == OFFICIAL_ROOT else f", and see that DISCORD_API_ROOT ({api_root}) is right"
    how = "copy the token again from the developer portal (Bot, Reset Token)"
    return f"Discord refuses DISCORD_BOT_TOKEN; {how}{own}."


def is_refusal(error: BaseException) -> bool:
    """Whether Discord does not take the token."""
    if isinstance(error, discord.ConnectionClosed):
        return error.code == _REFUSED
    return isinstance(error, discord.LoginFailure) or (isinstance(error, discord.HTTPException) and error.status == 401)


def _cause(error: BaseException) -> BaseException:
    """The library stumbles over a first connection that failed: what it stumbled over is what matters."""
    before = error.__context__
    known = isinstance(before, (*NETWORK, discord.DiscordException))
    return before if isinstance(error, AttributeError) and known and before is not None else error


def why(error: BaseException) -> str:
    """One clause without secrets."""
    return f"it answered {error.status}" if isinstance(error, discord.HTTPException) else type(error).__name__
