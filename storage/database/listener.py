"""A connection to PostgreSQL that hears notifications."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from asyncpg import InterfaceError, PostgresError
from sqlalchemy import URL, NullPool
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from routing.errors import StorageFault
from storage.database.faults import driver_message, fault
from storage.postgres_schema import APPLICATION

PAUSE_SECONDS = 0.5
"""Before a lost connection is replaced."""
ANSWER_SECONDS = 1.5
"""A connection that takes longer for a small statement is taken for lost."""
_ERRORS = (PostgresError, InterfaceError, OSError)
Heard = Callable[[int, str], object]
"""Called with the number of the server's process that sent a notification, and its text."""

log = logging.getLogger(__name__)


class Listener:
    """Connects at the first `start`, and again whenever the connection is lost. `connected` is called each time, as
    what was sent meanwhile is not heard. Small statements can use the connection, beside a pool that is busy."""

    def __init__(self, url: URL, connected: Callable[[], object]) -> None:
        self._url = url
        self._connected = connected
        self._heard: dict[str, Heard] = {}
        self._keeping: asyncio.Task[None] | None = None
        self._driver: Any = None
        self._asking = asyncio.Lock()

    def hear(self, channel: str, heard: Heard) -> None:
        """Call `heard` with the notifications of a channel. To be used before `start`."""
        self._heard[channel] = heard

    def start(self) -> None:
        """Connect, if that was not begun yet."""
        if self._keeping is None:
            self._keeping = asyncio.get_running_loop().create_task(self._keep())

    async def ask(self, statement: str, *values: object) -> Any:
        """The first value that a statement returns. Raises StorageFault, after ANSWER_SECONDS at the latest."""
        async with self._asking:
            driver = self._driver
            if driver is None:
                raise fault(ConnectionError("the connection is lost"))
            try:
                return await driver.fetchval(statement, *values, timeout=ANSWER_SECONDS)
            except _ERRORS as error:
                driver.terminate()
                raise fault(error) from error

    async def close(self) -> None:
        """Disconnect."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self) -> None:
        named = {"server_settings": {"application_name": APPLICATION}}
        engine = create_async_engine(self._url, poolclass=NullPool, hide_parameters=True, connect_args=named)
        logged = ""
        while True:
            try:
                async with engine.connect() as connection:
                    await self._listen((await connection.get_raw_connection()).driver_connection)
                logged = ""
            except (DBAPIError, StorageFault, *_ERRORS) as error:
                if (reason := driver_message(error)) != logged:  # the pool may still have its connections
                    log.warning("No connection for notifications and heartbeats: %s", reason)
                    logged = reason
            await asyncio.sleep(PAUSE_SECONDS)

    async def _listen(self, driver: Any) -> None:
        """Until the connection ends."""
        ended = asyncio.Event()
        driver.add_termination_listener(lambda _: ended.set())
        try:
            for channel, heard in self._heard.items():
                await driver.add_listener(channel, lambda _, process, __, words, heard=heard: heard(process, words))
        except _ERRORS as error:
            raise fault(error) from error
        self._driver = driver
        try:
            self._connected()
            await ended.wait()
        finally:
            self._driver = None
