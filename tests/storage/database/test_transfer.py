"""Moves of all data to another database: row by row identical, also if they are killed at any batch."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, func, update

from routing.errors import ConfigError
from storage.database import open_database, parse_url
from storage.database.migrate import current_revision, migrate, on_server
from storage.database.sqlite_copy import copy
from storage.database.transfer import Moved, OnStep, transfer
from storage.schema import REVISION, metadata, processes
from tests.postgres import Server
from tests.storage.every_table import everything, fill

ROWS = 9


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.database.tables.ROWS", 4)


@pytest.fixture
def old(sqlite_template: Path, tmp_path: Path) -> str:
    """A SQLite database with rows in every table; the last person's were deleted."""
    path = tmp_path / "old.db"
    copy(sqlite_template, path)
    url = f"sqlite:///{path}"
    on(url, lambda c: fill(c, ROWS))
    on(url, lambda c: c.exec_driver_sql(f"delete from people where id = {ROWS}"))
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.system)])
def new(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'folder' / 'new.db'}"
    return empty(request.getfixturevalue("postgres"))


def empty(server: Server) -> str:
    server.databases += 1
    name = f"target{server.databases}"
    server.sql(f"create database {name}")
    return server.url(name)


def on(url: str, step: Callable[[Connection], Any]) -> Any:
    """Runs a step in one transaction."""
    if not url.startswith("sqlite"):
        return asyncio.run(on_server(parse_url(url), step))
    engine = create_engine(url)
    event.listen(engine, "connect", lambda connection, _: connection.execute("pragma foreign_keys = on"))
    try:
        with engine.begin() as connection:
            return step(connection)
    finally:
        engine.dispose()


def rows_of(url: str) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = on(url, everything)
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def revision(url: str) -> str:
    return str(on(url, current_revision))


def moved(source: str, target: str, said: list[str] | None = None) -> Moved:
    return transfer(source, target, (said if said is not None else []).append, lambda *_: None)


def killed(source: str, target: str, prepare: Callable[[], OnStep]) -> bool:
    """Runs a move in a process of its own that may kill itself; whether it did."""
    child = os.fork()
    if not child:
        try:
            transfer(source, target, lambda _: None, prepare())
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def dies_at(number: int) -> Callable[..., None]:
    """Kills the process when it is called this often."""
    left = number

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    return count


def test_every_row_arrives_and_returns(old: str, new: str, tmp_path: Path) -> None:
    before = (tmp_path / "old.db").read_bytes()
    found = moved(old, new)
    assert (found.tables, found.mended) == (len(metadata.tables), {})
    assert rows_of(new) == rows_of(old)
    assert found.rows == sum(map(len, rows_of(new).values())) > ROWS * 20
    assert revision(new) == REVISION
    assert (tmp_path / "old.db").read_bytes() == before
    back = f"sqlite:///{tmp_path / 'back.db'}"
    assert moved(new, back) == found
    assert (tmp_path / "back.db").stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(tmp_path / "old.db")) as a, closing(sqlite3.connect(tmp_path / "back.db")) as b:
        assert sorted(a.iterdump()) == sorted(b.iterdump())
        assert a.execute("select * from sqlite_master order by name").fetchall()


def test_ids_of_deleted_rows_are_not_used_again(old: str, new: str) -> None:
    moved(old, new)
    added = "insert into people (name, role, created_at) values ('New', 'user', 0) returning id"
    assert on(new, lambda c: c.exec_driver_sql(added).scalar_one()) == ROWS + 1


def test_a_second_move_finds_everything_there(old: str, new: str) -> None:
    assert moved(old, new) == moved(old, new)


@pytest.mark.parametrize(
    ("at", "places"),
    [("a commit", 17), *(pytest.param(*each, marks=pytest.mark.slow) for each in (("a commit", 1), ("a step", 31)))],
)
def test_a_move_that_is_killed_anywhere_goes_on(
    old: str, request: pytest.FixtureRequest, at: str, places: int, new: str
) -> None:
    """`places` is how many places are between two kills."""
    place, unfinished, expected = 1, 0, rows_of(old)

    def dies() -> OnStep:
        if at == "a step":
            return dies_at(place)
        event.listen(Engine, "commit", dies_at(place))
        return lambda *_: None

    while killed(old, new, dies):
        said: list[str] = []
        moved(old, new, said)
        assert (revision(new), rows_of(new)) == (REVISION, expected)
        unfinished += said == ["Continuing where the last move stopped."]
        place += places
        if new.startswith("sqlite"):
            Path(parse_url(new).database or "").unlink()
        else:
            new = empty(request.getfixturevalue("postgres"))
    assert place > 3 * len(metadata.tables), "each table has three batches"
    assert unfinished * places > 2 * len(metadata.tables)


def stopped(source: str, target: str, step: tuple[str, str]) -> None:
    """Begins a move, which ends with an error at this step."""

    class Stopped(Exception):
        pass

    def stop(doing: str, table: str, *_: int) -> None:
        if (doing, table) == step:
            raise Stopped

    with pytest.raises(Stopped):
        transfer(source, target, lambda _: None, stop)


COPYING = ("Copying", "messages")


def test_it_goes_on_where_it_stopped(old: str, new: str) -> None:
    stopped(old, new, COPYING)
    said: list[str] = []
    copied: list[str] = []

    def note(doing: str, table: str, *_: int) -> None:
        copied.extend([table] * (doing == "Copying"))

    transfer(old, new, said.append, note)
    assert said == ["Continuing where the last move stopped."]
    assert "people" not in copied
    assert "messages" in copied


def test_an_unfinished_one_is_not_used_by_a_bot(old: str, new: str, tmp_path: Path) -> None:
    stopped(old, new, COPYING)
    with pytest.raises(ConfigError, match="a move into it was interrupted"):
        migrate(new, tmp_path)
    with pytest.raises(ConfigError, match="a move into it was interrupted"):
        moved(new, f"sqlite:///{tmp_path / 'third.db'}")
    assert not (tmp_path / "third.db").exists()


def test_a_database_that_changed_meanwhile_is_moved_from_the_beginning(old: str, new: str) -> None:
    stopped(old, new, COPYING)
    on(old, lambda c: c.exec_driver_sql("delete from people where id = 2"))
    said: list[str] = []
    moved(old, new, said)
    assert said == ["What the last move left there no longer fits the old database: starting again."]
    assert rows_of(new) == rows_of(old)


@pytest.mark.parametrize(
    "change",
    ["update people set name = 'Eve' where id = 3", "delete from people where id = 3", "update facts set text = 'x'"],
)
def test_a_changed_row_is_found(old: str, new: str, change: str) -> None:
    stopped(old, new, ("Comparing", "people"))
    on(new, lambda c: c.exec_driver_sql(change))
    with pytest.raises(
        ConfigError, match=r"differs from the old one in .*: something else wrote into it|can't be stored"
    ):
        moved(old, new)
    assert revision(new) != REVISION
    moved(old, new)
    assert rows_of(new) == rows_of(old)


def test_a_row_that_is_there_twice_is_found(old: str, new: str) -> None:
    stopped(old, new, ("Copying", "people"))
    on(new, lambda c: c.exec_driver_sql("update people set id = 77 where id = 1"))
    on(new, lambda c: c.exec_driver_sql("update people set id = 6 where id = 2"))
    with pytest.raises(ConfigError, match="The table people can't be stored in"):
        moved(old, new)
    moved(old, new)
    assert rows_of(new) == rows_of(old)


def test_a_database_with_other_data_is_left_alone(old: str, new: str) -> None:
    moved(old, new)
    on(new, lambda c: c.exec_driver_sql("update people set name = 'Eve' where id = 3"))
    before = rows_of(new)
    with pytest.raises(ConfigError, match="holds the data of a bot already: choose"):
        moved(old, new)
    assert rows_of(new) == before
    assert revision(new) == REVISION


def test_an_unfinished_move_of_another_bot_is_left_alone(old: str, new: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    moved(old, other)
    stopped(other, new, COPYING)
    mark = revision(new)
    with pytest.raises(ConfigError, match="another bot's database: choose"):
        moved(old, new)
    assert revision(new) == mark


def test_another_programs_database_is_left_alone(old: str, new: str) -> None:
    if new.startswith("sqlite"):
        Path(parse_url(new).database or "").parent.mkdir()
    on(new, lambda c: c.exec_driver_sql("create table songs (x int)"))
    with pytest.raises(ConfigError, match="tables of another program"):
        moved(old, new)


def test_empty_tables_of_ours_are_filled(old: str, new: str, tmp_path: Path) -> None:
    migrate(new, tmp_path)
    moved(old, new)
    assert rows_of(new) == rows_of(old)


@pytest.mark.parametrize(
    ("found", "reason"),
    [("0001", "holds tables of an older tierbot"), ("9999", "which this version of tierbot does not know")],
)
def test_a_target_of_another_revision_is_left_alone(
    old: str, new: str, tmp_path: Path, found: str, reason: str
) -> None:
    migrate(new, tmp_path)
    on(new, lambda c: c.exec_driver_sql(f"update alembic_version set version_num = '{found}'"))
    with pytest.raises(ConfigError, match=reason):
        moved(old, new)
    assert revision(new) == found


@pytest.mark.parametrize(
    ("found", "reason"), [("0001", "run `tierbot migrate` first"), ("9999", "does not know"), ("", "start the bot")]
)
def test_a_source_of_another_revision_is_refused(old: str, new: str, found: str, reason: str) -> None:
    on(old, lambda c: c.exec_driver_sql(f"update alembic_version set version_num = '{found}'"))
    with pytest.raises(ConfigError, match=reason):
        moved(old, new)
    assert not Path(parse_url(new).database or "").exists()


def test_a_file_of_another_kind_is_left_alone(old: str, tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_bytes(b"Dear Ann, " * 1000)
    with pytest.raises(ConfigError, match="choose another file"):
        moved(old, f"sqlite:///{tmp_path / 'letter.db'}")
    assert (tmp_path / "letter.db").read_bytes() == b"Dear Ann, " * 1000


def test_a_database_that_another_program_writes_is_not_moved(
    old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.database.connection.BUSY_TIMEOUT_MS", 1)
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as writer:
        writer.execute("begin immediate")
        with pytest.raises(ConfigError, match="another program uses it"):
            moved(old, f"sqlite:///{tmp_path / 'new.db'}")


def test_a_full_disk_is_named_and_the_move_goes_on(old: str, tmp_path: Path) -> None:
    new = f"sqlite:///{tmp_path / 'new.db'}"
    on(old, lambda c: c.exec_driver_sql("update outbox set picture = zeroblob(100000)"))

    def limited(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("pragma max_page_count = 150")

    event.listen(Engine, "connect", limited)
    try:
        with pytest.raises(ConfigError, match=r"new.db can't be used \(database or disk is full\): its disk is full"):
            moved(old, new)
    finally:
        event.remove(Engine, "connect", limited)
    said: list[str] = []
    moved(old, new, said)
    assert said == ["Continuing where the last move stopped."]
    assert rows_of(new) == rows_of(old)


def test_damaged_texts_are_mended_and_counted(old: str, new: str) -> None:
    damaged = "update inbox set payload = cast(x'61ff0062' as text) where id in (3, 7)"
    on(old, lambda c: c.exec_driver_sql(damaged))
    assert moved(old, new).mended == {"inbox": 2}
    mended = "select payload from inbox where id = 7"
    assert on(new, lambda c: c.exec_driver_sql(mended).scalar_one()) == "a��b"
    assert moved(old, new).mended == {"inbox": 2}


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """A shell lets its background jobs, such as these tests, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_stops_it_and_it_goes_on(old: str, new: str, caplog: pytest.LogCaptureFixture) -> None:
    def interrupt(doing: str, table: str, done: int, _: int) -> None:
        if (doing, table, done) == (*COPYING, 4):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        transfer(old, new, lambda _: None, interrupt)
    assert not caplog.records
    said: list[str] = []
    moved(old, new, said)
    assert said == ["Continuing where the last move stopped."]
    assert rows_of(new) == rows_of(old)


def test_rows_that_a_damaged_index_hides_are_not_left_behind(old: str, new: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as writer:
        writer.execute("create table empty (key varchar(100) primary key)")
        writer.execute("pragma writable_schema = on")
        page = "select rootpage from sqlite_master where name = 'sqlite_autoindex_empty_1'"
        writer.execute(f"update sqlite_master set rootpage = ({page}) where name = 'sqlite_autoindex_state_1'")
        writer.execute("delete from sqlite_master where tbl_name = 'empty'")
    with pytest.raises(ConfigError, match=r"old.db is damaged \(.*\): restore a backup"):
        moved(old, new)
    assert not Path(parse_url(new).database or "").exists()


def test_a_place_that_is_no_file_says_what_to_do(old: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="name a file in it"):
        moved(old, f"sqlite:///{tmp_path}")
    with pytest.raises(ConfigError, match="a part of its path is a file"):
        moved(old, f"sqlite:///{tmp_path / 'file' / 'new.db'}")


@pytest.mark.system
class TestPostgres:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ("role = 'a role of more than 16 characters'", r"people \(id 7\): role has 33 characters, and at most 16"),
            ("created_at = 'yesterday'", "created_at is not of type float"),
        ],
    )
    def test_what_it_can_not_store_is_named(self, old: str, postgres: Server, change: str, reason: str) -> None:
        new = empty(postgres)
        on(old, lambda c: c.exec_driver_sql(f"update people set {change} where id = 7"))
        with pytest.raises(ConfigError, match=reason):
            moved(old, new)
        assert on(new, lambda c: c.exec_driver_sql("select to_regclass('people')").scalar()) is None

    def test_a_number_that_is_too_large_is_named(self, old: str, postgres: Server) -> None:
        on(old, lambda c: c.exec_driver_sql("update inbox set attempts = 3000000000 where id = 7"))
        with pytest.raises(ConfigError, match=r"inbox \(id 7\): attempts is larger than 2,147,483,647"):
            moved(old, empty(postgres))

    def test_zeros_with_a_sign_are_equal(self, old: str, postgres: Server, tmp_path: Path) -> None:
        new = empty(postgres)
        moved(old, new)
        on(new, lambda c: c.exec_driver_sql("update people set created_at = '-0'::float where id = 1"))
        assert moved(new, f"sqlite:///{tmp_path / 'back.db'}").rows

    @pytest.mark.parametrize("role", ["old", "new"])
    async def test_a_running_bots_database_is_left_alone(
        self, old: str, postgres: Server, tmp_path: Path, role: str
    ) -> None:
        url = postgres.copy()
        database = open_database(url)
        await database.write(lambda c: fill(c, 2))
        beating = update(processes).values(beat_at=func.extract("epoch", func.clock_timestamp()))
        await database.write(lambda c: c.execute(beating))
        pair = (url, f"sqlite:///{tmp_path / 'new.db'}") if role == "old" else (old, url)
        with pytest.raises(ConfigError, match="A running tierbot uses this database: stop it first"):
            await asyncio.to_thread(moved, *pair)
        await database.write(lambda c: c.execute(update(processes).values(beat_at=-1)))
        await database.close()
        if role == "old":
            assert (await asyncio.to_thread(moved, *pair)).rows == 2 * len(metadata.tables)

    def test_no_bot_starts_on_the_old_one_meanwhile(self, old: str, postgres: Server, tmp_path: Path) -> None:
        first = empty(postgres)
        moved(old, first)
        refused: list[str] = []

        def start(*_: object) -> None:
            if refused:
                return
            child = os.fork()
            if not child:
                try:
                    add = "set lock_timeout = '50ms'; insert into processes (name, beat_at) values ('bot', 1)"
                    with pytest.raises(subprocess.CalledProcessError):
                        postgres.run("psql", "-qc", add, first.replace("+asyncpg", ""))
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            refused.append("")

        transfer(first, f"sqlite:///{tmp_path / 'new.db'}", lambda _: None, start)
        assert refused

    def test_one_database_under_two_addresses_is_refused(self, old: str, postgres: Server) -> None:
        first = empty(postgres)
        moved(old, first)
        with pytest.raises(ConfigError, match="the same database"):
            moved(first, f"{first}/")

    @pytest.mark.parametrize("option", ["unknown=1", "ssl=unknown"])
    def test_an_unknown_option_is_named(self, old: str, postgres: Server, option: str) -> None:
        with pytest.raises(ConfigError, match="unknown"):
            moved(old, f"{empty(postgres)}&{option}")

    def test_from_one_server_database_to_another(self, old: str, postgres: Server) -> None:
        first, second = empty(postgres), empty(postgres)
        assert moved(old, first) == moved(first, second)
        assert rows_of(second) == rows_of(old)

    @pytest.mark.parametrize("cut", ["the old one", "the new one"])
    def test_a_connection_that_breaks_is_named_and_the_move_goes_on(
        self, old: str, postgres: Server, tmp_path: Path, cut: str
    ) -> None:
        first = empty(postgres)
        source, target = (old, first) if cut == "the new one" else (first, f"sqlite:///{tmp_path / 'new.db'}")
        if source == first:
            moved(old, first)

        def end(doing: str, table: str, *_: int) -> None:
            if (doing, table) == COPYING:
                name = parse_url(first).database
                postgres.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

        with pytest.raises(ConfigError, match="run the same command again"):
            transfer(source, target, lambda _: None, end)
        said: list[str] = []
        moved(source, target, said)
        assert said == ["Continuing where the last move stopped."]
        assert rows_of(target) == rows_of(source)

    def test_another_encoding_is_refused(self, old: str, postgres: Server) -> None:
        postgres.sql("create database latin encoding 'LATIN1' locale 'C' template template0")
        with pytest.raises(ConfigError, match="has the encoding LATIN1"):
            moved(old, postgres.url("latin"))

    def test_a_second_move_at_once_is_refused(
        self, old: str, postgres: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("storage.database.transfer.CONNECT_SECONDS", 0.2)
        new = empty(postgres)

        def again(*_: object) -> None:
            child = os.fork()
            if not child:
                try:
                    with pytest.raises(ConfigError, match="another move or migration uses it"):
                        moved(old.replace("old.db", "copy.db"), new)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            raise ConfigError("refused")

        copy(Path(parse_url(old).database or ""), Path(parse_url(old).database or "").with_name("copy.db"))
        with pytest.raises(ConfigError, match="refused"):
            transfer(old, new, lambda _: None, again)

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (("carl:right", "carl:wrong"), "check the user and the password"),
            (("carl:right", "karl:right"), "check the user"),
            (("/target", "/none"), "create it first"),
            (("host=/tmp", "host=/nowhere"), "check that the server runs"),
            (("", ""), "GRANT CREATE ON SCHEMA"),
        ],
        ids=["password", "user", "database", "host", "rights"],
    )
    def test_an_address_that_does_not_work_says_what_to_do(
        self, old: str, carl: str, change: tuple[str, str], reason: str
    ) -> None:
        url = carl.replace(*change) if change[0] else carl
        with pytest.raises(ConfigError, match=reason) as refused:
            moved(old, url)
        assert "The old database is as it was" in str(refused.value)
        assert "right@" not in str(refused.value)
        assert "wrong@" not in str(refused.value)

    def test_a_password_among_the_options_is_hidden(self, old: str, carl: str) -> None:
        with pytest.raises(ConfigError, match="check the user and the password") as refused:
            moved(old, carl.replace(":right", "") + "&password=wrong")
        assert "=wrong" not in str(refused.value)

    @pytest.fixture
    def carl(self, postgres: Server) -> str:
        """An empty database, as a user with a password and without rights."""
        rules = postgres.folder / "data" / "pg_hba.conf"
        if "carl" not in rules.read_text(encoding="utf-8"):
            postgres.sql("create role carl login password 'right'")
            rules.write_text(f"local all carl scram-sha-256\n{rules.read_text(encoding='utf-8')}", encoding="utf-8")
            postgres.sql("select pg_reload_conf()")
        return empty(postgres).replace("postgres@", "carl:right@")


def on_file(path: Path, question: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(question).fetchone()[0]
