"""All requests in order, and waiting for more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.servers.model.request import ModelRequest


class Journal(list[ModelRequest]):
    """A plain list of requests; `keep` bounds it for long runs (None keeps all)."""

    def __init__(self, keep: int | None = None) -> None:
        super().__init__()
        self.keep = keep
        self.seen = 0
        self._arrived = asyncio.Event()

    def add(self, request: ModelRequest) -> None:
        """Records a request and wakes the waiting tests."""
        self.append(request)
        if self.keep is not None and len(self) > self.keep:
            del self[: len(self) - self.keep]
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    def next_number(self) -> int:
        self.seen += 1
        return self.seen

    @property
    def calls(self) -> list[ModelRequest]:
        """Requests for an answer, without media, queries about models and unknown paths."""
        others = ("models", "tags", "show", "ps", "unknown")
        return [request for request in self if request.endpoint not in others and not request.is_media]

    @property
    def media(self) -> list[ModelRequest]:
        """Requests for a transcript, a sound or a picture."""
        return [request for request in self if request.is_media]

    async def wait(self, enough: Callable[[], bool], timeout: float) -> None:
        """Returns once `enough()` is true, checked after each request. Raises TimeoutError after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            while not enough():
                await self._arrived.wait()
