"""PostgreSQL, which several processes may share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from routing.errors import CommitUnknown
from storage.database.async_engine import AsyncDatabase
from storage.database.listener import Listener
from storage.postgres_schema import CHANGED

T = TypeVar("T")
CONNECTIONS = 5
_SETTINGS = {"idle_in_transaction_session_timeout": "3s"}
"""The server ends the transaction of a frozen process: its locks would hold back those who take over."""
_SIZE = "select pg_database_size(current_database())"
_PROCESS = "server process"
"""Key of a connection's process in the record that the pool has about it."""


class PostgresDatabase(AsyncDatabase):
    """Implements `storage.database.Database` with a pool of CONNECTIONS, and one more that hears what other processes
    change. Reads run without a transaction, whose statements would not see the same state either (READ COMMITTED)."""

    def __init__(self, url: URL) -> None:
        engine = create_async_engine(
            url,
            pool_size=CONNECTIONS,
            max_overflow=0,
            hide_parameters=True,
            connect_args={"server_settings": _SETTINGS},
        )
        super().__init__(engine, _SIZE)
        self.listener = Listener(url, self._outside.clear)
        self.listener.hear(CHANGED, self._heard)
        self.commit_unknown: Callable[[], object] = lambda: None
        """Called if the connection was lost during a commit, so that memory may differ from what is stored."""
        self._own: set[int] = set()
        """The server's processes for the pool: their changes are known here."""
        event.listen(engine.sync_engine, "connect", self._connected)
        event.listen(engine.sync_engine, "close", self._closed)

    async def close(self) -> None:
        await self.listener.close()
        await super().close()

    async def _transact(
        self, engine: AsyncEngine, step: Callable[[Connection], T], begin: str = "", version: str = ""
    ) -> T:
        if self._outside:
            self.listener.start()
        try:
            return await super()._transact(engine, step, begin, version)
        except CommitUnknown:
            self.commit_unknown()
            raise

    def _heard(self, process: int, changed: str) -> None:
        if process not in self._own:
            table, _, key = changed.partition(" ")
            self._outside.changed(table, key)

    def _connected(self, connection: Any, record: Any) -> None:
        record.info[_PROCESS] = connection.driver_connection.get_server_pid()
        self._own.add(record.info[_PROCESS])

    def _closed(self, _connection: Any, record: Any) -> None:
        self._own.discard(record.info.get(_PROCESS))
