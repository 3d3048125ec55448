"""The turns that run right now: /stop reaches them, /status counts them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from routing.types.messages import ChatKey, UserKey
from routing.types.stop import Stop

LONGEST_END_SECONDS = 10.0
"""A stopped turn keeps what it has and is over at once; a tool may need a moment to be ended."""


class RunningTurns:
    """At most one turn a chat; `queued` counts the messages that wait, kept by whoever queues them."""

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
        """The turn of this user runs for as long as the block."""
        self._turns[chat] = stop
        over = self._users.setdefault(chat, (user, asyncio.Event()))[1]
        try:
            yield
        finally:
            del self._turns[chat], self._users[chat]
            over.set()

    async def end(self, user: UserKey) -> None:
        """Stop whatever runs for somebody, and wait until it is over: they are forgotten, or may no longer be here."""
        for chat, (whose, _) in tuple(self._users.items()):
            if whose == user:
                self.stop(chat)
                await self.ended(chat)

    async def ended(self, chat: ChatKey) -> None:
        """Wait until the turn that runs in a chat is over and what came of it is kept, but not for ever."""
        if chat in self._users:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._users[chat][1].wait(), LONGEST_END_SECONDS)

    def asker(self, chat: ChatKey) -> UserKey | None:
        """Whose turn runs in a chat."""
        return self._users[chat][0] if chat in self._users else None

    def stop(self, chat: ChatKey) -> bool:
        """End the chat's turn, keeping what it has said; False when none runs."""
        stop = self._turns.get(chat)
        if stop is None or stop.requested:
            return False
        stop.request()
        return True
