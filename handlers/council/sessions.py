"""Allows one council per person at a time, whether a command or a tool started it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from routing.bounded import Bounded
from routing.errors import Refused
from routing.ports import Clock

WHOLE_SECONDS = 1.0
"""Telegram rounds times down to whole seconds, so a message sent right after the end may look older than it."""


class Sessions:
    """Keyed by person id, so all accounts of a person share a session. `clock` is monotonic."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[int] = set()
        self._ended = Bounded[int, float]()

    @contextmanager
    def enter(self, person_id: int, sent_at: float | None = None) -> Iterator[None]:
        """Runs the council inside the block. Raises Refused if another council of this person is running, or was
        running when the command was sent and queued it. `sent_at` are seconds on the platform's clock, which may differ
        from this machine's: only the platform's times of two commands are compared."""
        if person_id in self._running:
            raise Refused("You already have a council running. Wait for it, or end it with /stop in its chat.")
        ended = self._ended.get(person_id)
        if sent_at is not None and ended is not None and sent_at < ended - WHOLE_SECONDS:
            raise Refused(
                "Your last council was still running when you sent this. To start another one, send it again."
            )
        self._running.add(person_id)
        began = self._clock()
        try:
            yield
        finally:
            self._running.discard(person_id)
            if sent_at is not None:
                self._ended[person_id] = sent_at + self._clock() - began
