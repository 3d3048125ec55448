"""One council at a time for each person, whether they asked for it or their model did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from handlers.access.bounded_table import Recent
from routing.errors import Refused
from routing.ports import Clock

WHOLE_SECONDS = 1.0
"""Telegram rounds times down to whole seconds, so a message sent right after the end may look older than it."""


class Sessions:
    """People are told apart by their id, so all accounts of one person share a session."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[int] = set()
        self._ended: Recent[int, float] = Recent()

    @contextmanager
    def enter(self, person_id: int, sent_at: float | None = None) -> Iterator[None]:
        """The council runs inside the block. Raises Refused while another one of this person runs, and for a command
        that was `sent_at` a time when one ran: it waited in its chat for that one to end."""
        if person_id in self._running:
            raise Refused("You already have a council running. Wait for it, or end it with /stop in its chat.")
        if sent_at is not None and sent_at < (self._ended.get(person_id) or 0.0) - WHOLE_SECONDS:
            raise Refused(
                "Your last council was still running when you sent this. To start another one, send it again."
            )
        self._running.add(person_id)
        try:
            yield
        finally:
            self._running.discard(person_id)
            self._ended.put(person_id, self._clock())
