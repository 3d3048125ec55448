"""`tierbot migrate-to`: what it prints and refuses, and when the bot uses the new database."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import NullPool, create_engine

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.ops import move as module
from bot.ops.move import move
from routing.errors import ConfigError
from storage.database.migrate import migrate
from storage.schema import metadata
from tests.bot.cli import tierbot
from tests.postgres import Server
from tests.storage.every_table import fill
from tests.stories.forked_cli import forked

NEXT = "Start the bot: `tierbot run`, or `sudo systemctl start tierbot` for a service.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with three rows in every table and keys in `.env`."""
    root = tmp_path / "ws"
    root.mkdir()
    migrate(f"sqlite:///{root / 'tierbot.db'}", root)
    engine = create_engine(f"sqlite:///{root / 'tierbot.db'}", poolclass=NullPool)
    with engine.begin() as connection:
        fill(connection, 3)
    (root / ".env").write_text("# mine\nOPENAI_API_KEY=sk-test-0\n", encoding="utf-8")
    return root


def env(root: Path) -> str:
    path = root / ".env"
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text(encoding="utf-8")


def opened(root: Path, **environ: str) -> Workspace:
    return Workspace(load({"WORKSPACE": str(root), **environ}))


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return sorted(connection.iterdump())


@pytest.mark.system
async def test_there_and_back(root: Path, postgres: Server) -> None:
    postgres.sql("create database there")
    url = f"postgresql://postgres:secret@/there?host={postgres.folder}"
    shown = url.replace("secret", "***").replace("/tmp/", "%2Ftmp%2F")
    code, output, errors = await tierbot(root, "migrate-to", url)
    assert (code, errors) == (0, "")
    head, *tables, summary, switched, old, after = output.splitlines(keepends=True)
    assert head == f"Moving {root / 'tierbot.db'} to {shown}.\n"
    assert sorted(tables) == sorted(f"{name}: 3 rows\n" for name in metadata.tables)
    assert summary == f"Moved {3 * len(tables)} rows in {len(tables)} tables. All were read back and compared.\n"
    assert switched == f"{root / '.env'} names the new database now.\n"
    assert old.startswith(f"The old database is as it was: {root / 'tierbot.db'}. Delete it")
    assert after == NEXT
    assert "secret" not in output
    assert env(root) == f"# mine\nOPENAI_API_KEY=sk-test-0\nDATABASE_URL='{url}'\n"
    assert opened(root).environment.settings.database == url

    code, output, errors = await tierbot(root, "migrate-to", url)
    assert (code, output) == (2, "")
    assert errors.endswith(" already. Nothing was changed.\n")
    code, _, errors = await tierbot(root, "migrate-to", "sqlite")
    assert (code, "rename this one" in errors) == (0, False), "the old one has the same rows still"
    assert env(root) == "# mine\nOPENAI_API_KEY=sk-test-0\n"

    kept = root / "kept.db"
    (root / "tierbot.db").rename(kept)
    (root / ".env").write_text(f"DATABASE_URL='{url}'\n", encoding="utf-8")
    code, output, errors = await tierbot(root, "migrate-to", "sqlite")
    assert (code, errors) == (0, "")
    assert f"DATABASE_URL is gone from {root / '.env'}.\nThe old database is as it was: {shown}." in output
    assert dump(root / "tierbot.db") == dump(kept)
    assert (root / "tierbot.db").stat().st_mode & 0o777 == 0o600


async def test_the_address_can_come_from_a_pipe(root: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "WORKSPACE": str(root)}
    async with forked("migrate-to", "-", env=environment) as process:
        code, output, errors = await process.ended()
        assert (code, output) == (2, "")
        assert errors.startswith("tierbot: This is no database: give an address (postgresql://…)")
    async with forked("migrate-to", "-", env=environment) as process:
        assert (await process.ended(f"sqlite:///{root / 'new.db'}\n".encode()))[0] == 0
    assert dump(root / "new.db") == dump(root / "tierbot.db")


def test_ctrl_d_instead_of_an_address_is_no_address(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", end)
    with pytest.raises(ConfigError, match="This is no database"):
        move(opened(root), "-")


def test_another_file_gets_an_absolute_address(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    assert move(opened(root), "data/bot.db") == 0
    assert f"DATABASE_URL=sqlite:///{root}/data/bot.db\n" in env(root)
    assert move(opened(root), "sqlite+aiosqlite:///again.db") == 0
    assert f"DATABASE_URL=sqlite+aiosqlite:///{root}/again.db\n" in env(root)
    assert dump(root / "again.db") == dump(root / "tierbot.db")
    assert f"{root}/data/bot.db. Delete it" in capsys.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_creates_belongs_to_the_bots_user(root: Path) -> None:
    os.chown(root, 12345, 12345)
    assert move(opened(root), str(root / "a" / "b" / "new.db")) == 0
    assert {path.stat().st_uid for path in (root / "a", root / "a" / "b", root / "a" / "b" / "new.db")} == {12345}


def test_a_file_with_the_old_address_is_not_read_any_more(root: Path) -> None:
    (root / "address").write_text(f"sqlite:///{root / 'tierbot.db'}\n", encoding="utf-8")
    (root / ".env").write_text(f"DATABASE_URL_FILE={root / 'address'}\n", encoding="utf-8")
    assert move(opened(root), str(root / "new.db")) == 0
    assert env(root) == f"DATABASE_URL=sqlite:///{root / 'new.db'}\n"


def test_an_address_from_elsewhere_is_changed_there(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (root / ".env").read_text(encoding="utf-8")
    assert move(opened(root, DATABASE_URL=f"sqlite:///{root / 'tierbot.db'}"), str(root / "new.db")) == 0
    assert f"DATABASE_URL is set outside of {root / '.env'}, which was therefore not changed" in capsys.readouterr().out
    assert (root / ".env").read_text(encoding="utf-8") == before


def test_a_running_bot_is_not_moved(root: Path) -> None:
    workspace = opened(root)
    with FileLock(workspace.lock_file), pytest.raises(ConfigError, match="Stop it first"):
        move(workspace, str(root / "new.db"))
    assert not (root / "new.db").exists()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("postgres", "is no database: give an address"),
        ("postgres:secret@127.0.0.1/name", "This is no database"),
        ("./folder/", "This is no database"),
        ("mysql://host/name", "must look like"),
        ("postgresql://host:port/name", "must look like"),
        ("postgresql://a:se@cret@host/name", "an @, which must be written as %40"),
        ("postgresql://a:secret@host", r"a:\*\*\*@host names no database"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite", "already"),
        ("postgresql://a:secret@127.0.0.1:1/x", r"a:\*\*\*@127.0.0.1:1/x can't be used .*: check that the server runs"),
    ],
)
def test_a_target_that_can_not_be_used_is_refused(root: Path, target: str, reason: str) -> None:
    before = (root / ".env").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match=reason) as refused:
        move(opened(root), target)
    assert "cret" not in str(refused.value)
    assert (root / ".env").read_text(encoding="utf-8") == before


def test_without_a_database_there_is_nothing_to_move(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to move"):
        move(opened(tmp_path / "ws"), str(tmp_path / "new.db"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_move_that_is_killed_around_the_switch_is_finished_by_the_next(root: Path, before: bool) -> None:
    child = os.fork()
    if not child:
        try:
            switch = module._switch

            def die(workspace: Workspace, url: str) -> str:
                if not before:
                    switch(workspace, url)
                os.kill(os.getpid(), signal.SIGKILL)
                raise AssertionError

            module._switch = die
            move(opened(root), str(root / "new.db"))
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    if before:
        assert "DATABASE_URL" not in (root / ".env").read_text(encoding="utf-8")
        assert move(opened(root), str(root / "new.db")) == 0
    assert f"DATABASE_URL=sqlite:///{root / 'new.db'}\n" in env(root)
    assert dump(root / "new.db") == dump(root / "tierbot.db")


def test_a_terminal_shows_how_far_it_is(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("storage.database.tables.ROWS", 2)
    assert move(opened(root), str(root / "new.db")) == 0
    shown = capsys.readouterr().out
    assert "\r\033[KReading people: 2 rows" in shown
    assert "\r\033[KCopying people: 2 of 3 rows" in shown
    assert "\r\033[KComparing people: 3 rows" in shown
    assert shown.replace("\r\033[K", "\n").count("\npeople: 3 rows\n") == 1


def test_it_can_be_stopped_and_says_how_to_go_on(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(progress: object, doing: str, *_: object) -> None:
        if doing == "Copying":
            raise KeyboardInterrupt

    monkeypatch.setattr("bot.ops.move._Progress.step", stop)
    with pytest.raises(KeyboardInterrupt):
        move(opened(root), str(root / "new.db"))
    assert (
        "Stopped. The bot still uses the old database; run the same command again to go on." in capsys.readouterr().out
    )
    monkeypatch.undo()
    assert move(opened(root), str(root / "new.db")) == 0
    assert "Continuing where the last move stopped." in capsys.readouterr().out
    assert dump(root / "new.db") == dump(root / "tierbot.db")


@pytest.mark.parametrize(
    ("given", "meant"), [("migrat-to", "migrate-to"), ("migrate_to", "migrate-to"), ("docter", "doctor")]
)
async def test_a_misspelled_command_names_the_one_that_was_meant(tmp_path: Path, given: str, meant: str) -> None:
    code, output, errors = await tierbot(tmp_path / "ws", given, "x")
    assert (code, output) == (2, "")
    assert errors.endswith(f"tierbot: error: there is no command '{given}'; did you mean '{meant}'?\n")


async def test_its_help_says_what_it_does(tmp_path: Path) -> None:
    code, output, _ = await tierbot(tmp_path / "ws", "migrate-to", "--help")
    assert code == 0
    words = " ".join(output.split())
    assert "Moves all data of a stopped bot to another database" in words
    assert "postgresql://user:password@host/name" in words
