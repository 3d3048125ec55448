"""Imports and what takes as long, in a thread at the first use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Loading(Generic[T]):
    """A value that is made once, in a thread; those who need it meanwhile wait for it. They all get its error; the next
    use tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """The value. Raises what `make` raises."""
        if self._made is None:
            self._made = asyncio.ensure_future(asyncio.to_thread(self._make))
            self._made.add_done_callback(self._forget_error)
        return await asyncio.shield(self._made)

    def _forget_error(self, made: asyncio.Future[T]) -> None:
        if made.cancelled() or made.exception() is not None:
            self._made = None
