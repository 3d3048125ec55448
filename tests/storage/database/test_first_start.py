"""A new database is created directly and equals the migrated one."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event, inspect

from routing.errors import ConfigError
from storage.database import migrate
from storage.schema import REVISION


def test_the_first_start_creates_the_migrated_schema(tmp_path: Path) -> None:
    at_once, step_by_step = tmp_path / "at_once.db", tmp_path / "step_by_step.db"
    assert migrate.migrate(f"sqlite:///{at_once}", tmp_path) == "an empty database"
    engine = create_engine(f"sqlite:///{step_by_step}")
    event.listen(engine, "connect", migrate._explicit_transactions)
    with engine.begin() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        migrate._upgrade(connection)
    assert _shape(at_once) == _shape(step_by_step)
    assert migrate.migrate(f"sqlite:///{at_once}", tmp_path) is None


def test_a_large_file_is_checked_only_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tierbot.db"
    url = f"sqlite:///{path}"
    migrate.migrate(url, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        where = "select rootpage, page_size from sqlite_master, pragma_page_size where name = 'audit'"
        [(page, size)] = connection.execute(where)
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"damaged" * 100)
    with pytest.raises(ConfigError, match="it is damaged"):
        migrate.migrate(url, tmp_path)
    monkeypatch.setattr(migrate, "MAX_CHECKED_BYTES", 0)
    path.with_name("tierbot.db-wal").unlink(missing_ok=True)
    assert migrate.migrate(url, tmp_path) is None
    path.with_name("tierbot.db-wal").touch()
    with pytest.raises(ConfigError, match="it is damaged"):
        migrate.migrate(url, tmp_path)


def _index(index: Mapping[str, Any]) -> str:
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return str({**index, "dialect_options": options})


def _shape(database: Path) -> dict[str, Any]:
    """Tables with their columns, keys and indexes, and the revision."""
    engine = create_engine(f"sqlite:///{database}")
    found = inspect(engine)
    shape: dict[str, Any] = {}
    for table in found.get_table_names():
        shape[table] = {
            "columns": {column["name"]: column | {"type": str(column["type"])} for column in found.get_columns(table)},
            "key": found.get_pk_constraint(table),
            "foreign": sorted(map(str, found.get_foreign_keys(table))),
            "unique": sorted(map(str, found.get_unique_constraints(table))),
            "indexes": sorted(map(_index, found.get_indexes(table))),
        }
    with engine.connect() as connection:
        made = "select name from sqlite_master where sql like '%AUTOINCREMENT%' order by name"
        shape["ids never given again"] = connection.exec_driver_sql(made).fetchall()
        versions = connection.exec_driver_sql("select version_num from alembic_version").fetchall()
    assert versions == [(REVISION,)]
    engine.dispose()
    return shape
