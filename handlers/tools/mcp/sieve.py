"""What stands between a transport and the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
from mcp.shared.message import SessionMessage

Item = SessionMessage | Exception


class Sieve:
    """The reading end of a transport, of which the SDK gets what `passes`. It is the SDK's `ReadStream`."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._writing: Any = None

    @asynccontextmanager
    async def through(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        """The transport with this in its way."""
        async with transport as (reading, writing):
            self._stream, self._writing = reading, writing
            yield self, writing

    async def passes(self, item: Item) -> bool:
        """Whether the SDK may have it; it may be changed before."""
        raise NotImplementedError

    def end(self) -> None:
        """Nothing more comes, or nothing that is wanted."""

    async def receive(self) -> Item:
        while True:
            try:
                item: Item = await self._stream.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self.end()
                raise
            if await self.passes(item):
                return item

    def __aiter__(self) -> Sieve:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Sieve:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
