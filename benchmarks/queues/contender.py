"""What a queue has to do here, and the job that it runs."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from benchmarks.queues.board import END, START, Board

PAYLOAD_BYTES = 200
TOGETHER = 50
"""Jobs that a consumer runs at once."""
BEAT_SECONDS, DEAD_SECONDS = 1.5, 6.0
"""A consumer says that it lives, and counts as dead without. Contenders use these where they can be set."""
POLL_SECONDS = 0.1
"""Between two looks of the contenders that find some of their jobs only by looking."""
RETRY_SECONDS, ATTEMPTS = 0.1, 5
STORE = "insert into results (message) values ($1)"
"""What a job stores in its own transaction, where a contender offers no other."""


@dataclass(frozen=True, slots=True)
class Message:
    """`index` numbers all messages of a run in the order in which they are put."""

    index: int
    conversation: int

    def text(self) -> str:
        """The payload, which every contender stores."""
        text = json.dumps({"index": self.index, "conversation": self.conversation, "text": ""})
        return f"{text[:-2]}{'x' * (PAYLOAD_BYTES - len(text))}{text[-2:]}"


class Failed(Exception):
    """Raised by the first attempt of a job that is to fail."""


@dataclass(frozen=True, slots=True)
class Job:
    """The handler. It takes `seconds`; every `failing`th message fails once (0: none); `stores` says whether the
    contender stores a result of it, once for each message."""

    board: Board
    slot: int
    seconds: float = 0.0
    failing: int = 0
    stores: bool = False

    async def run(self, text: str) -> int:
        """Returns the message's index. Raises Failed."""
        index: int = json.loads(text)["index"]
        log = self.board.logs[self.slot]
        log.add(START, index)
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.failing and index % self.failing == 0 and not self.board.failed[index]:
            self.board.failed[index] = 1
            raise Failed(index)
        log.add(END, index)
        return index


Put = Callable[[Sequence[Message]], Awaitable[None]]
"""Returns when the messages are committed, all in one transaction."""


class Contender(Protocol):
    """A queue. `settings` says in words how it is used here."""

    settings: str

    async def create(self, dsn: str) -> None:
        """Make the tables in an empty database."""

    def front(self, dsn: str) -> AbstractAsyncContextManager[Put]:
        """What puts messages."""

    async def consume(self, dsn: str, job: Job, ready: Callable[[], None]) -> None:
        """Run jobs until the process is killed; call `ready` when the first can come."""


NAMES = ("plain", "plain, grouped", "procrastinate", "PgQueuer", "DBOS")
_PLACES = {"plain, grouped": ("plain", "GROUPED")}


def place(name: str) -> str:
    """The module of a contender."""
    return f"benchmarks.queues.{_PLACES.get(name, (name.lower(),))[0]}"


def contender(name: str) -> Contender:
    """Imports a contender; its packages must be there."""
    found: Contender = getattr(importlib.import_module(place(name)), _PLACES.get(name, ("", "QUEUE"))[1])
    return found


def missing(name: str) -> str:
    """The packages that are not installed; empty if the contender can be measured."""
    return ", ".join(module for module in PACKAGES[name] if find_spec(module) is None)


PACKAGES = {
    "plain": ("asyncpg",),
    "plain, grouped": ("asyncpg",),
    "procrastinate": ("procrastinate", "psycopg", "psycopg_pool"),
    "PgQueuer": ("pgqueuer", "asyncpg"),
    "DBOS": ("dbos", "psycopg"),
}
"""What each imports, without what all need."""
