"""Databases that pass everything on and let a test watch or delay reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from storage.database import Database

T = TypeVar("T")


class Counting:
    """Counts reads and writes. Holds the results of reads while `gate` is cleared, of writes with `write_gate`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.on_outside_change = database.on_outside_change
        self.size_bytes, self.close = database.size_bytes, database.close
        self.reads = self.writes = 0
        self.gate, self.write_gate = asyncio.Event(), asyncio.Event()
        self.gate.set()
        self.write_gate.set()

    async def read(self, step: Callable[[Connection], T]) -> T:
        self.reads += 1
        found = await self._database.read(step)
        await self.gate.wait()
        return found

    async def write(self, step: Callable[[Connection], T], urgent: bool = True) -> T:
        done = await self._database.write(step, urgent)
        self.writes += 1
        await self.write_gate.wait()
        return done


class Late(Counting):
    """The first `count` reads return only when allowed; `have_read` is set once they have read."""

    def __init__(self, database: Database, count: int = 1) -> None:
        super().__init__(database)
        self._count = count
        self.have_read, self.may_return = asyncio.Event(), asyncio.Event()

    async def read(self, step: Callable[[Connection], T]) -> T:
        found = await super().read(step)
        if self._count:
            self._count -= 1
            if not self._count:
                self.have_read.set()
            await self.may_return.wait()
        return found
