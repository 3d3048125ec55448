"""Runs follow-up work after an answer is sent. The person never waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from handlers.context import Reply
from routing.types.history import TurnRecord
from routing.types.messages import InboundMessage

Hook = Callable[[InboundMessage, TurnRecord], Awaitable[None]]
"""A follow-up task for the turn that a message started."""
After = Callable[[InboundMessage, Reply], None]
"""Called with each stored reply."""

log = logging.getLogger("handlers.post_turn")


def nothing(message: InboundMessage, reply: Reply) -> None:
    """Runs no follow-up."""


class PostTurnHooks:
    """Implements `After`: starts one task per hook. Failures are only logged."""

    def __init__(self, *hooks: Hook) -> None:
        self._hooks = hooks
        self._tasks: set[asyncio.Future[None]] = set()

    def __call__(self, message: InboundMessage, reply: Reply) -> None:
        if reply.record is not None and reply.record.facts is not None:
            for hook in self._hooks:
                task = asyncio.ensure_future(hook(message, reply.record))
                self._tasks.add(task)
                task.add_done_callback(partial(self._ended, reply.record.turn_id))

    async def close(self) -> None:
        """Cancels the running tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, turn: str, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("The check after turn %s failed", turn, exc_info=error)
