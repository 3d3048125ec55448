"""Reports messages that were handled without a reply."""

from __future__ import annotations

import asyncio

from routing.types.messages import InboundMessage


class NoReplyEvents:
    """Tells platforms that a message gets no reply."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = {}

    async def wait(self, message: InboundMessage) -> None:
        """Return once it is certain that the message gets no reply."""
        event = self._waiting.setdefault(message.update_id, asyncio.Event())
        try:
            await event.wait()
        finally:
            self._waiting.pop(message.update_id, None)

    def note(self, message: InboundMessage) -> None:
        """Record that this message gets no reply."""
        if message.update_id in self._waiting:
            self._waiting[message.update_id].set()
