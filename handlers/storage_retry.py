"""Steps of the storage that are repeated until they work: what is durable already must not be lost on the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from itertools import chain, repeat
from typing import ParamSpec, TypeVar

from routing.errors import StorageFault

PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds between the tries; the last one for as long as the disk is full or the database held."""
TELL_SECONDS = 3.0
"""How long a step fails before the person is told."""
STUCK: ContextVar[Callable[[], None]] = ContextVar("STUCK", default=lambda: None)
"""Tells the person whose message is being handled that the storage fails."""
P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("handlers.storage_retry")


async def patiently(step: Callable[P, Awaitable[T]], *given: P.args, **named: P.kwargs) -> T:
    """What `step` gives, however long the storage fails before."""
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
