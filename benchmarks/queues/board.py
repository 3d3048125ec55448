"""What the processes of a run tell each other: shared memory, so that a killed process loses nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import Any, NamedTuple

START, END = 0, 1
CONSUMERS = 2
FRONTS = 2
RUNS = 3
"""Runs of a message that a consumer has room for, on average."""


class Event(NamedTuple):
    """A handler of `consumer` started or ended with a message. `at` is in monotonic seconds, equal in all processes."""

    at: float
    message: int
    kind: int
    consumer: int


@dataclass(frozen=True, slots=True)
class Log:
    """The events of one consumer. Only its process writes; the process that replaces a dead one goes on."""

    count: Any
    ended: Any
    messages: Any
    times: Any
    kinds: Any

    def add(self, kind: int, message: int) -> None:
        """Note an event; the count goes up last, so that a half-written one is never read."""
        place = self.count.value
        self.messages[place] = message
        self.kinds[place] = kind
        self.times[place] = time.monotonic()
        self.count.value = place + 1
        if kind == END:
            self.ended.value += 1

    @property
    def running(self) -> int:
        """Handlers that have started and not ended, if none has failed."""
        return int(self.count.value - 2 * self.ended.value)


@dataclass(frozen=True, slots=True)
class Board:
    """`committed` has the time of each message's commit, `put` and `cpu` the messages and CPU seconds of each front,
    `failed` the messages that have failed already."""

    go: Any
    committed: Any
    put: Any
    cpu: Any
    failed: Any
    logs: Sequence[Log]

    @property
    def ended(self) -> int:
        """Handlers that ended, repeated ones included."""
        return sum(log.ended.value for log in self.logs)

    def events(self) -> list[Event]:
        """All events by time."""
        found = [
            Event(log.times[place], log.messages[place], log.kinds[place], consumer)
            for consumer, log in enumerate(self.logs)
            for place in range(log.count.value)
        ]
        return sorted(found)


def new_board(context: SpawnContext, messages: int) -> Board:
    """A board with room for so many messages."""
    room = messages * 2 * RUNS
    logs = [
        Log(
            *(context.RawValue("i", 0) for _ in range(2)),
            *(context.RawArray(kind, room) for kind in ("i", "d", "b")),
        )
        for _ in range(CONSUMERS)
    ]
    return Board(
        context.Event(),
        context.RawArray("d", messages),
        context.RawArray("i", FRONTS),
        context.RawArray("d", FRONTS),
        context.RawArray("b", messages),
        logs,
    )
