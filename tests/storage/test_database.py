"""An empty database, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import func, select

from storage.database import Database
from storage.schema import metadata


async def test_every_table_is_there_and_the_size_is_known(database: Database) -> None:
    def count(c: object) -> int:
        return sum(c.execute(select(func.count()).select_from(t)).scalar_one() for t in metadata.tables.values())  # type: ignore[attr-defined]

    assert await database.read(count) == 0
    assert await database.size_bytes() > 10_000
