"""Reports messages that were handled without a reply."""

from __future__ import annotations

import asyncio

from routing.types.messages import InboundMessage


class NoReplyEvents:
    """Tells those who wait for a reply to a message that none will come."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = {}

    async def wait(self, message: InboundMessage) -> None:
        """Return only when it is certain that no reply comes."""
        event = self._waiting.setdefault(message.update_id, asyncio.Event())
        try:
            await event.wait()
        finally:
            self._waiting.pop(message.update_id, None)

    def note(self, message: InboundMessage) -> None:
        """No reply comes to this message."""
        if message.update_id in self._waiting:
            self._waiting[message.update_id].set()
