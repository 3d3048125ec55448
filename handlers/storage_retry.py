"""Retries a storage step until it succeeds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from itertools import chain, repeat
from typing import ParamSpec, TypeVar

from routing.errors import StorageFault

PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts. The last value repeats."""
TELL_SECONDS = 3.0
"""Tell the person after this many seconds of failures."""
STUCK: ContextVar[Callable[[], None]] = ContextVar("STUCK", default=lambda: None)
"""Tells the person whose message is being handled that the storage fails."""
P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("handlers.storage_retry")


async def retry_storage(step: Callable[P, Awaitable[T]], *given: P.args, **named: P.kwargs) -> T:
    """Calls `step` until it no longer raises StorageFault, and returns its result."""
    waited = 0.0
    for pause in chain(PAUSES, repeat(PAUSES[-1])):
        try:
            return await step(*given, **named)
        except StorageFault as fault:
            log.error("%s Trying again.", fault)
            if waited >= TELL_SECONDS:
                STUCK.get()()
            await asyncio.sleep(pause)
            waited += pause
    raise AssertionError("the pauses have no end")
