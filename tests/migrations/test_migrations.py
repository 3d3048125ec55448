"""Migrations: they match the schema, can be reverted, keep a backup, and a kill leaves the old revision."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, event, inspect

from routing.errors import ConfigError
from storage.codec import INBOUND
from storage.database import migrate as migrate_module
from storage.database.migrate import KEPT_BACKUPS, SCRIPTS, backup, known_revisions, migrate
from storage.schema import REVISION, metadata

NEXT = "9000"
FUTURE_REVISION = f'''"""A future revision."""

import os
import signal

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{REVISION}"


def upgrade() -> None:
    op.create_table("half", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("insert into half values (1)")
    op.add_column("people", sa.Column("hat", sa.Text(), nullable=False, server_default=""))
    op.execute("delete from people")
    if os.environ.get("DIE_HERE"):
        os.kill(os.getpid(), signal.SIGKILL)
    op.create_table("whole", sa.Column("id", sa.Integer(), primary_key=True))


def downgrade() -> None:
    op.drop_table("whole")
'''
DRIVER = """
import sys
from pathlib import Path
from storage.database import migrate
migrate.REVISION, migrate.SCRIPTS = sys.argv[3], Path(sys.argv[4])
print(migrate.migrate(sys.argv[1], Path(sys.argv[2])))
"""
ROOT = Path(__file__).resolve().parents[2]


def config(connection: Connection) -> Config:
    made = Config()
    made.set_main_option("script_location", str(SCRIPTS))
    made.attributes["connection"] = connection
    return made


@contextmanager
def connected(database: Path) -> Iterator[Connection]:
    """One transaction, as the program opens it for a migration."""
    engine = create_engine(f"sqlite:///{database}", poolclass=NullPool)
    event.listen(engine, "connect", migrate_module._explicit_transactions)
    with engine.begin() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


def rows(database: Path, question: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(database)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


@pytest.fixture
def populated(tmp_path: Path) -> Path:
    """A database at the current revision with one person."""
    database = tmp_path / "tierbot.db"
    migrate(f"sqlite:///{database}", tmp_path / "backups")
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("insert into people (name, role, created_at) values ('Alice', 'owner', 0)")
    connection.close()
    return database


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The migrations and one additional revision."""
    folder = tmp_path / "migrations"
    shutil.copytree(SCRIPTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"{NEXT}_to_come.py").write_text(FUTURE_REVISION, encoding="utf-8")
    return folder


def migrated_by_another_process(database: Path, scripts: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    url, backups = f"sqlite:///{database}", str(database.parent / "backups")
    return subprocess.run(
        [sys.executable, "-c", DRIVER, url, backups, NEXT, str(scripts)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_schema_revision_is_the_migration_head() -> None:
    made = Config()
    made.set_main_option("script_location", str(SCRIPTS))
    scripts = ScriptDirectory.from_config(made)
    assert scripts.get_heads() == [REVISION]
    assert known_revisions() == {script.revision for script in scripts.walk_revisions()}


def test_the_migrations_create_the_schemas_tables(tmp_path: Path) -> None:
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "head")
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_every_revision_upgrades_and_downgrades(tmp_path: Path) -> None:
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "head")
    with connected(tmp_path / "a.db") as connection:
        command.downgrade(config(connection), "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "head")
        assert set(metadata.tables) <= set(inspect(connection).get_table_names())


def test_people_from_before_toolkit_switches_keep_all_toolkits(tmp_path: Path) -> None:
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "0003")
        connection.exec_driver_sql("insert into people (id, name, role, created_at) values (1, 'Alice', 'owner', 0)")
        connection.exec_driver_sql(
            "insert into preferences (person_id, force, language, time_zone, instructions)"
            " values (1, 1, 'de', 'UTC', '')"
        )
        command.upgrade(config(connection), "head")
    assert rows(tmp_path / "a.db", "select language, toolkits_off from preferences") == [("de", "[]")]


OLD_MESSAGE = {
    "user": {"platform": "telegram", "user_id": "1001"},
    "chat": {"platform": "telegram", "chat_id": "1001"},
    "bot_id": "7",
    "update_id": "5",
    "text": "",
    "sent_at": 0.0,
}


def keep_waiting(connection: Connection, *payloads: str | bytes) -> None:
    insert = (
        "insert into inbox (platform, bot_id, update_id, payload, state, attempts, placeholder, received_at)"
        " values ('telegram', '7', ?, cast(? as text), 'waiting', 0, '', 0)"
    )
    connection.exec_driver_sql(insert, [(str(number), payload) for number, payload in enumerate(payloads)])


def old_message(kind: str, text: str) -> str:
    return json.dumps(OLD_MESSAGE | {"kind": kind, "text": text}, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        ("reaction", "👍", ("👍", False, "")),
        ("reaction", "-👍", ("👍", True, "")),
        ("unsupported", "stickers", ("stickers", False, "")),
        ("unsupported", ".zip", ("", False, ".zip")),
        ("message", "-1", ("-1", False, "")),
        ("message", ".zip", (".zip", False, "")),
        ("message", '"kind":"reaction"', ('"kind":"reaction"', False, "")),
    ],
)
def test_markers_in_waiting_messages_become_fields(
    tmp_path: Path, kind: str, text: str, read: tuple[str, bool, str]
) -> None:
    found = []
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "0020")
        keep_waiting(connection, old_message(kind, text))
        for _ in range(2):  # the second time, the messages are in the new form already
            command.upgrade(config(connection), "0021")
            found.append(connection.exec_driver_sql("select payload from inbox").scalar_one())
            command.downgrade(config(connection), "0020")
    loaded = INBOUND.load(found[0])
    assert (loaded.text, loaded.removed, loaded.extension) == read
    assert found[1] == found[0]


def test_markers_are_replaced_in_many_messages_beside_damaged_ones(tmp_path: Path) -> None:
    removed = old_message("reaction", "-👎")
    damaged: list[str | bytes] = [
        removed[:-1],
        removed.encode().replace("👎".encode(), b"\xf0\x9f"),
        '["kind":"reaction"]',
    ]
    with connected(tmp_path / "a.db") as connection:
        command.upgrade(config(connection), "0020")
        keep_waiting(connection, *damaged, *[removed] * 2500, '{"kind":"reaction"}')
        command.upgrade(config(connection), "0021")
        kept = connection.exec_driver_sql("select cast(payload as blob) from inbox order by id").scalars().all()
    assert kept[:3] == [each if isinstance(each, bytes) else each.encode() for each in damaged]
    assert kept[-1] == b'{"kind":"reaction"}'
    assert {(each.text, each.removed) for each in map(INBOUND.load, map(bytes.decode, kept[3:-1]))} == {("👎", True)}


def test_a_migration_keeps_a_backup(populated: Path, scripts: Path) -> None:
    done = migrated_by_another_process(populated, scripts)
    assert (done.returncode, done.stdout) == (0, f"{REVISION}\n"), done.stderr
    assert rows(populated, "select version_num from alembic_version") == [(NEXT,)]
    assert rows(populated, "select count(*) from whole") == [(0,)]
    kept = list((populated.parent / "backups").glob(f"tierbot-{REVISION}-*.db"))
    assert len(kept) == 1
    assert rows(kept[0], "select name from people") == [("Alice",)]
    assert rows(kept[0], "select version_num from alembic_version") == [(REVISION,)]


def test_a_killed_migration_leaves_the_old_revision_intact(populated: Path, scripts: Path) -> None:
    before = rows(populated, "select name, sql from sqlite_master order by name")
    died = migrated_by_another_process(populated, scripts, DIE_HERE="1")
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert rows(populated, "select version_num from alembic_version") == [(REVISION,)]
    assert rows(populated, "select name from people") == [("Alice",)]
    assert rows(populated, "select name, sql from sqlite_master order by name") == before
    assert rows(populated, "pragma integrity_check") == [("ok",)]
    again = migrated_by_another_process(populated, scripts)
    assert again.returncode == 0, again.stderr
    assert rows(populated, "select version_num from alembic_version") == [(NEXT,)]


def test_an_up_to_date_database_is_not_backed_up(populated: Path) -> None:
    backups = populated.parent / "backups"
    assert migrate(f"sqlite:///{populated}", backups) is None
    assert list(backups.glob("*.db")) == []


def test_only_the_newest_backups_are_kept(populated: Path) -> None:
    backups = populated.parent / "backups"
    backups.mkdir(exist_ok=True)
    old = [backups / f"tierbot-0000-2026010{day}-000000.db" for day in range(1, 8)]
    for age, path in enumerate(old):
        path.touch()
        os.utime(path, (1000 + age, 1000 + age))
    (backups / "mine.db").touch()
    made = backup(populated, backups, REVISION)
    assert set(backups.glob("tierbot-*.db")) == {made, *old[-KEPT_BACKUPS + 1 :]}
    assert KEPT_BACKUPS == 5
    assert (backups / "mine.db").exists()


def test_an_incomplete_backup_is_not_kept(populated: Path) -> None:
    """Leftovers of a killed process are removed, too."""
    backups = populated.parent / "backups"
    backups.mkdir(exist_ok=True)
    (backups / "tierbot-0001-20260101-000000.db.part").write_bytes(b"half")
    with sqlite3.connect(populated) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.execute("pragma journal_mode = delete")
    whole = populated.read_bytes()
    populated.write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])
    with pytest.raises(sqlite3.Error):
        backup(populated, backups, REVISION)
    assert list(backups.iterdir()) == []


def test_a_newer_database_is_refused_unchanged(populated: Path) -> None:
    connection = sqlite3.connect(populated)
    with connection:
        connection.execute("update alembic_version set version_num = '9999'")
    connection.close()
    before = populated.read_bytes()
    with pytest.raises(ConfigError, match="revision 9999"):
        migrate(f"sqlite:///{populated}", populated.parent / "backups")
    assert populated.read_bytes() == before


async def test_a_migration_does_not_wait_for_readers(populated: Path, scripts: Path) -> None:
    reader = sqlite3.connect(populated)
    assert reader.execute("pragma journal_mode = wal").fetchone() == ("wal",)  # as the bot leaves it
    reader.execute("begin")
    assert reader.execute("select name from people").fetchall() == [("Alice",)]
    done = await asyncio.to_thread(migrated_by_another_process, populated, scripts)
    assert done.returncode == 0, done.stderr
    reader.close()
