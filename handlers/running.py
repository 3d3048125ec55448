"""The turns that run now, used by /stop and /status."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from routing.types.messages import ChatKey, UserKey
from routing.types.stop import Stop

MAX_STOP_SECONDS = 10.0
"""Maximum wait for a stopped turn. The turn ends at once, but a tool may need time to stop."""


class RunningTurns:
    """At most one turn per chat. `queued` is the number of waiting messages, updated by the queue."""

    def __init__(self) -> None:
        self._turns: dict[ChatKey, Stop] = {}
        self._users: dict[ChatKey, tuple[UserKey, asyncio.Event]] = {}
        self.queued = 0

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, chat: ChatKey) -> bool:
        return chat in self._turns

    @contextmanager
    def enter(self, chat: ChatKey, stop: Stop, user: UserKey) -> Iterator[None]:
        """Registers a user's turn for the duration of the block."""
        self._turns[chat] = stop
        over = self._users.setdefault(chat, (user, asyncio.Event()))[1]
        try:
            yield
        finally:
            del self._turns[chat], self._users[chat]
            over.set()

    async def end(self, user: UserKey) -> None:
        """Stops all turns of a user and waits until they are over."""
        for chat, (whose, _) in tuple(self._users.items()):
            if whose == user:
                self.stop(chat)
                await self.ended(chat)

    async def ended(self, chat: ChatKey) -> None:
        """Waits until the turn in a chat is over and stored, at most `MAX_STOP_SECONDS`."""
        if chat in self._users:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._users[chat][1].wait(), MAX_STOP_SECONDS)

    def asker(self, chat: ChatKey) -> UserKey | None:
        """The user whose turn runs in a chat."""
        return self._users[chat][0] if chat in self._users else None

    def stop(self, chat: ChatKey) -> bool:
        """Stops the turn in a chat and keeps the partial answer. Returns False if no turn runs."""
        stop = self._turns.get(chat)
        if stop is None or stop.requested:
            return False
        stop.request()
        return True
