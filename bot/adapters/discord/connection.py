"""Logs in, keeps the gateway connected, and replaces connections on which nothing arrives."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

import discord

from bot.adapters.discord.client import NETWORK, Client
from bot.adapters.discord.settings import OFFICIAL_ROOT, DiscordSettings, Pace
from bot.adapters.shared.connection import ConnectionBackoff, FirstAttempt, ReceiveLoop
from bot.adapters.shared.descriptor import secret
from bot.platform import Progress
from routing.error_boundary import ErrorBoundary
from routing.errors import ConfigError, Reason, system_reason
from routing.ports import Clock

log = logging.getLogger(__name__)

REVOKED = "Discord refuses the token; set a valid DISCORD_BOT_TOKEN and restart"
NO_CONTENT = (
    "the app can't read messages, so I only see direct messages, mentions and commands; to change that, "
    "turn on Message Content Intent in the developer portal (Bot) and restart"
)
NO_CONNECTION = "no connection to Discord ({error})"
SHARDS = "Discord asks for sharding; set DISCORD_SHARDED=true and restart"
CLOSED = "Discord closed the connection ({code})"
_REFUSED, _SHARDING = 4004, 4011  # the gateway's close codes
_UNKNOWN_FACTOR = 4  # times the longest wait after an unknown error: IDENTIFY is limited to 1000 a day


class Alert(Protocol):
    """Called with a sentence for the owners, or with an empty one when the problem is solved."""

    def __call__(self, template: str, /, **values: object) -> None: ...


class DiscordBackoff(ConnectionBackoff):
    """Backoff that also tells the owners through `alert` what they have to fix, and when it is fixed."""

    UNSAVED = "messages can't be saved ({error}); they wait in memory until they can"

    def __init__(self, progress: Progress, pace: Pace, alert: Alert) -> None:
        super().__init__("Discord", progress, pace)
        self._alert = alert

    def recovered(self) -> None:
        super().recovered()
        self._alert(self._lasting and f"⚠️ Discord: {self._lasting}")

    def without_content(self, missing: bool) -> None:
        """Whether the message content intent is missing."""
        if missing and not self._lasting:
            log.warning("Discord: %s", NO_CONTENT)
        self._lasting = NO_CONTENT if missing else ""

    def connection_failed(self, error: BaseException) -> float:
        """Seconds to wait after the login failed or the connection ended for good."""
        closed = error.code if isinstance(error, discord.ConnectionClosed) else None
        if closed is not None or is_refusal(error):
            template = {_REFUSED: REVOKED, None: REVOKED, _SHARDING: SHARDS}.get(closed, CLOSED)
            self._report(Reason(template, code=closed))
            self._alert(f"⚠️ {template}", code=closed)
            return self._pace.revoked
        cause = _cause(error)
        if isinstance(cause, discord.RateLimited):
            return cause.retry_after
        self._report(Reason(NO_CONNECTION, error=why(cause)), logging.WARNING)
        if isinstance(cause, (*NETWORK, discord.HTTPException)):
            return self._pause()
        return self._pause(longest=self._pace.longest_backoff * _UNKNOWN_FACTOR)

    def disconnected(self) -> None:
        """The connection could not be reopened at once."""
        self._report(Reason(NO_CONNECTION, error=Reason("trying again")), logging.WARNING)


class Connection(ReceiveLoop):
    """The library resumes sessions by itself, with growing pauses. After `Pace.max_silence` seconds without an
    acknowledged heartbeat, this starts a new session."""

    def __init__(
        self,
        client: Client,
        settings: DiscordSettings,
        pace: Pace,
        progress: Progress,
        backoff: DiscordBackoff,
        clock: Clock,
    ) -> None:
        super().__init__("Discord", progress, pace, clock)
        self._client = client
        self._settings = settings
        self._backoff = backoff
        self._entered = False
        self._first = FirstAttempt()
        self._beats: dict[int, tuple[float, float]] = {}
        """Per shard: duration of its last heartbeat, and when that was noticed."""
        self._losses: dict[int, int] = {}
        """Per shard: disconnects since it last worked."""

    async def start(self) -> None:
        """Return once Discord sends events, or after a few seconds while connecting continues.

        Raises ConfigError if the token is refused.
        """
        await self._first.wait(self._begin())

    async def stop(self) -> None:
        """Stop connecting."""
        tasks = [task for task in (self._watchdog, self._task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def connected(self, shard: int) -> None:
        """Note that the gateway accepted a new or resumed session of this shard."""
        self._losses.pop(shard, None)
        self._heard_at = self._progress.last_step = self._clock()
        if max(self._losses.values(), default=0) <= 1:
            self._backoff.recovered()
        self._first.end()

    def disconnected(self, shard: int) -> None:
        """Note a disconnect. A single one is normal, because Discord sometimes asks for it."""
        self._progress.last_step = self._clock()
        self._losses[shard] = self._losses.get(shard, 0) + 1
        if self._losses[shard] > 1:
            self._backoff.disconnected()
            self._first.end()

    async def _receive(self) -> None:
        boundary = ErrorBoundary(log, "Discord: the connection broke")
        while True:
            pause: float | None = 0.0
            with boundary:
                pause = await self._connect()
            if boundary.error is not None:
                pause = self._failed(boundary.error)
            if pause is None:
                return
            self._progress.last_step = self._clock()
            self._heard_at = self._clock() + pause
            await asyncio.sleep(pause)

    async def _connect(self) -> float | None:
        """Stay connected. Returns the seconds until the next attempt; None if there must be none."""
        try:
            if not self._entered:
                await self._client.login_once(secret(self._settings.discord_bot_token))
                self._entered = True
            self._backoff.without_content(not self._client.content)
            await self._client.connect()
        except discord.PrivilegedIntentsRequired as error:
            pause = 0.0 if self._client.content else self._backoff.connection_failed(error)
            self._client.drop_content_intent()
            return pause
        except (*NETWORK, discord.DiscordException) as error:
            if not (self._first.pending and is_refusal(error)):
                return self._failed(error)
            self._progress.problem = refused(self._settings.discord_api_root)
            self._first.end(ConfigError(self._progress.problem))
        return None

    def _failed(self, error: BaseException) -> float:
        pause = self._backoff.connection_failed(error)
        self._first.end()
        return pause

    async def _renew(self) -> None:
        await self._client.disconnect()
        self._beats.clear()

    def _last_heard(self, now: float) -> float:
        """Only acknowledged heartbeats count, because other events do not show that our own messages arrive."""
        for shard, took in enumerate(self._client.heartbeats()):
            if shard not in self._beats or self._beats[shard][0] != took:
                self._beats[shard] = took, now
                self._progress.last_step = now
        return max(self._heard_at, min((at for _, at in self._beats.values()), default=0.0))


def refused(api_root: str) -> Reason:
    """The error for a token that can't log in."""
    if api_root == OFFICIAL_ROOT:
        return Reason(
            "Discord refuses DISCORD_BOT_TOKEN; copy the token again from the developer portal (Bot, Reset Token)."
        )
    return Reason(
        "Discord refuses DISCORD_BOT_TOKEN; copy the token again from the developer portal (Bot, Reset Token), and "
        "check DISCORD_API_ROOT ({root}).",
        root=api_root,
    )


def is_refusal(error: BaseException) -> bool:
    """Whether Discord refuses the token."""
    if isinstance(error, discord.ConnectionClosed):
        return error.code == _REFUSED
    return isinstance(error, discord.LoginFailure) or (isinstance(error, discord.HTTPException) and error.status == 401)


def why(error: BaseException) -> str:
    """The reason for an error in one clause, without secrets."""
    if isinstance(error, discord.HTTPException):
        return Reason("it answered {status}", status=str(error.status))
    return system_reason(error) if isinstance(error, OSError) and error.errno else type(error).__name__


def _cause(error: BaseException) -> BaseException:
    """The cause of an error: the library raises AttributeError after a failed first connection."""
    before = error.__context__
    known = isinstance(before, (*NETWORK, discord.DiscordException))
    return before if isinstance(error, AttributeError) and known and before is not None else error
