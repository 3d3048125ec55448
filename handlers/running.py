"""The turns that run now, used by /stop and /status."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from routing.types.messages import ChatKey, UserKey
from routing.types.stop import Stop

MAX_STOP_SECONDS = 10.0
"""Maximum wait for a stopped turn. The turn ends at once, but a tool may need time to stop."""


@dataclass(slots=True)
class _Turn:
    """`over` is set when the turn has ended, if anything waits for that."""

    stop: Stop
    user: UserKey
    over: asyncio.Event | None = None


class RunningTurns:
    """At most one turn per chat. `queued` is the number of waiting messages, updated by the queue."""

    def __init__(self) -> None:
        self._turns: dict[ChatKey, _Turn] = {}
        self.queued = 0
        self.stopped = Counter[UserKey]()
        """Stopped turns per user since the start of the process."""

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, chat: ChatKey) -> bool:
        return chat in self._turns

    @contextmanager
    def enter(self, chat: ChatKey, stop: Stop, user: UserKey) -> Iterator[None]:
        """Registers a user's turn for the duration of the block."""
        turn = self._turns[chat] = _Turn(stop, user)
        try:
            yield
        finally:
            del self._turns[chat]
            if turn.over is not None:
                turn.over.set()

    async def end(self, user: UserKey) -> None:
        """Stops all turns of a user and waits until they are over."""
        for chat, turn in tuple(self._turns.items()):
            if turn.user == user:
                self.stop(chat)
                await self.ended(chat)

    async def ended(self, chat: ChatKey) -> None:
        """Waits until the turn in a chat is over and stored, at most `MAX_STOP_SECONDS`."""
        if turn := self._turns.get(chat):
            turn.over = turn.over or asyncio.Event()
            with suppress(TimeoutError):
                await asyncio.wait_for(turn.over.wait(), MAX_STOP_SECONDS)

    def asker(self, chat: ChatKey) -> UserKey | None:
        """The user whose turn runs in a chat."""
        return self._turns[chat].user if chat in self._turns else None

    def stop(self, chat: ChatKey) -> bool:
        """Stops the turn in a chat and keeps the partial answer. Returns False if no turn runs."""
        turn = self._turns.get(chat)
        if turn is None or turn.stop.requested:
            return False
        turn.stop.request()
        self.stopped[turn.user] += 1
        return True
