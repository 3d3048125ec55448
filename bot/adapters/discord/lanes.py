"""Work in order for each channel, side by side for different ones."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from bot.adapters.background import Background

log = logging.getLogger(__name__)
Work = Callable[[], Awaitable[None]]


class Lanes:
    """A lane lives while it has something to do. `gate`: while it is not set, nothing begins; `on_idle` is called
    whenever the last lane ends."""

    def __init__(self, gate: asyncio.Event, on_idle: Work) -> None:
        self._gate = gate
        self._on_idle = on_idle
        self._lanes: dict[int, deque[Work]] = {}
        self._background = Background("Discord")

    @property
    def idle(self) -> bool:
        return not self._lanes

    def __contains__(self, channel_id: int) -> bool:
        """Whether something waits, or is under way, for this channel."""
        return channel_id in self._lanes

    def put(self, channel_id: int, work: Work, *, ahead: bool = False) -> None:
        """Do this after what waits for the channel, or `ahead` of it."""
        lane = self._lanes.get(channel_id)
        if lane is None:
            lane = self._lanes[channel_id] = deque()
            self._background.spawn(self._run(channel_id, lane))
        (lane.appendleft if ahead else lane.append)(work)

    async def close(self, grace: float) -> None:
        """Give what is under way `grace` seconds, then end it."""
        await self._background.close(grace)

    async def _run(self, channel_id: int, lane: deque[Work]) -> None:
        while lane:
            await self._gate.wait()
            work = lane.popleft()
            try:
                await work()
            except Exception:  # an unexpected error must not hold up the entries after it
                log.exception("Discord: an event in channel %s is lost", channel_id)
        del self._lanes[channel_id]
        if self.idle:
            await self._on_idle()
