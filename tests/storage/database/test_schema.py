"""The migrations build the schema."""

import re
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from storage.database import Database, is_sqlite, parse_url
from storage.postgres_schema import INDEXES
from storage.schema import REVISION, metadata

VERSIONS = Path(__file__).resolve().parents[3] / "migrations" / "versions"


async def test_a_migrated_database_is_the_schema(database: Database) -> None:
    def differences(connection: Connection) -> object:
        own = {"include_name": lambda name, *_: name not in INDEXES}
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True} | own), metadata)

    assert await database.read(differences) == []


def test_the_revision_is_the_newest_migration() -> None:
    assert max(path.name.split("_")[0] for path in VERSIONS.glob("[0-9]*.py")) == REVISION


async def test_ids_are_never_reused(database: Database, database_url: str) -> None:
    """SQLite guarantees this only with AUTOINCREMENT, which the schema comparison does not check."""
    if not is_sqlite(parse_url(database_url)):
        return
    kept = sorted(table.name for table in metadata.tables.values() if table.dialect_options["sqlite"]["autoincrement"])
    rows = await database.read(lambda c: c.exec_driver_sql("select name, sql from sqlite_master").all())
    assert sorted(row.name for row in rows if re.search("AUTOINCREMENT", row.sql or "")) == kept != []
