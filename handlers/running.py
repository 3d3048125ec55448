"""The turns that run right now: /stop reaches them, /status counts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from routing.stop import Stop
from routing.types import ChatKey


class RunningTurns:
    """At most one turn a chat; `queued` counts the messages that wait, kept by whoever queues them."""

    def __init__(self) -> None:
        self._turns: dict[ChatKey, Stop] = {}
        self.queued = 0

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, chat: ChatKey) -> bool:
        return chat in self._turns

    @contextmanager
    def enter(self, chat: ChatKey, stop: Stop) -> Iterator[None]:
        """The turn runs for as long as the block."""
        self._turns[chat] = stop
        try:
            yield
        finally:
            del self._turns[chat]

    def stop(self, chat: ChatKey) -> bool:
        """End the chat's turn, keeping what it has said; False when none runs."""
        stop = self._turns.get(chat)
        if stop is None or stop.requested:
            return False
        stop.request()
        return True
