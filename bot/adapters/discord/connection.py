"""Logs in, keeps the gateway connected, and replaces a connection on which nothing arrives any more."""

from __future__ import annotations

import asyncio
import logging

import discord

from bot.adapters.discord.client import Client
from bot.adapters.discord.options import DiscordOptions
from bot.adapters.discord.trouble import Trouble, is_refusal, refused
from bot.platform import Progress
from routing.errors import ConfigError
from routing.ports import Clock

log = logging.getLogger(__name__)


class Connection:
    """The library resumes a session by itself, and pauses longer and longer between its tries; after `Pace.deaf`
    seconds without an acknowledged heartbeat this begins a new one."""

    def __init__(
        self, client: Client, options: DiscordOptions, progress: Progress, trouble: Trouble, clock: Clock
    ) -> None:
        self._client = client
        self._options = options
        self._progress = progress
        self._trouble = trouble
        self._clock = clock
        self._pace = options.pace
        self._entered = False
        self._first: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._beats: dict[int, tuple[float, float]] = {}
        """Of each gateway connection: how long its last heartbeat took, and when that was seen."""
        self._heard_at = 0.0
        self._losses: dict[int, int] = {}
        """Of each gateway connection, since it last worked."""
        self.renewals = 0

    async def start(self) -> None:
        """Connect; returns once Discord sends events, or when that takes longer, while connecting goes on. Raises
        ConfigError for a token that is refused."""
        self._first = asyncio.get_running_loop().create_future()
        self._heard_at = self._clock()
        self._task = asyncio.create_task(self._run())
        self._watch = asyncio.create_task(self._guard())
        either: set[asyncio.Future[None]] = {self._first, self._task}
        await asyncio.wait(either, timeout=self._pace.first_try, return_when=asyncio.FIRST_COMPLETED)
        if self._first.done():
            self._first.result()

    async def stop(self) -> None:
        """No new connection from now on."""
        tasks = [task for task in (self._watch, self._task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def alive(self, shard: int) -> None:
        """The gateway has taken the session of this connection, new or resumed."""
        self._losses.pop(shard, None)
        self._heard_at = self._progress.last_step = self._progress.last_contact = self._clock()
        if max(self._losses.values(), default=0) <= 1:
            self._trouble.over()
        self._tried(None)

    def lost(self, shard: int) -> None:
        """The connection ended; the first time that is nothing yet, Discord asks for it now and then."""
        self._progress.last_step = self._clock()
        self._losses[shard] = self._losses.get(shard, 0) + 1
        if self._losses[shard] > 1:
            self._trouble.disconnected()
            self._tried(None)

    def _tried(self, error: Exception | None) -> None:
        """How the first try went, for `start`."""
        if self._first is not None and not self._first.done():
            self._first.set_exception(error) if error is not None else self._first.set_result(None)

    async def _run(self) -> None:
        while True:
            try:
                if not self._entered:
                    await self._client.enter(self._options.token)
                    self._entered = True
                self._trouble.blind(not self._client.content)
                await self._client.connect()
            except discord.PrivilegedIntentsRequired as error:
                pause = 0.0 if self._client.content else self._trouble.with_connection(error)
                self._client.do_without_content()
            except Exception as error:  # any error is followed by another try
                first = self._first is not None and not self._first.done()
                if first and is_refusal(error):
                    self._progress.trouble = refused(self._options.api_root)
                    self._tried(ConfigError(self._progress.trouble))
                    return
                pause = self._trouble.with_connection(error)
                self._tried(None)
            else:
                return
            self._progress.last_step = self._clock()
            self._heard_at = self._clock() + pause
            await asyncio.sleep(pause)

    async def _guard(self) -> None:
        """Look for acknowledged heartbeats. What else arrives is no sign that what is sent arrives, too."""
        while True:
            await asyncio.sleep(self._pace.watch)
            now = self._clock()
            for number, took in enumerate(self._client.acknowledgements()):
                if number not in self._beats or self._beats[number][0] != took:
                    self._beats[number] = took, now
                    self._progress.last_step = self._progress.last_contact = now
            silent = now - max(self._heard_at, min((at for _, at in self._beats.values()), default=0.0))
            if silent <= self._pace.deaf or self._task is None:
                continue
            log.warning("Discord: nothing heard for %d s; reconnecting", silent)
            self._task.cancel()
            await asyncio.wait({self._task})
            await self._client.hang_up()
            self.renewals += 1
            self._beats.clear()
            self._heard_at = self._clock()
            self._task = asyncio.create_task(self._run())
