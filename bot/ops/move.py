"""`tierbot migrate-to TARGET`: moves all data of a stopped bot to another database, and lets the bot use that one."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import suppress
from pathlib import Path

from bot.config.environment import load
from bot.config.workspace import DATABASE_FILE, SQLITE_ENDINGS, Workspace
from bot.ops import env_file
from routing.errors import ConfigError
from storage.database import is_sqlite, parse_url, shown
from storage.database.transfer import transfer
from storage.outgoing_files import sync_folder

_VARIABLES = ("DATABASE_URL", "DATABASE_URL_FILE")


def move(workspace: Workspace, target: str) -> int:
    """Move everything, compare it, then change DATABASE_URL; says what happens. Returns the exit code. Until the end,
    the bot still uses the old database. Raises ConfigError."""
    old, new = workspace.environment.settings.database, _address(_asked(target), workspace)
    if _place(old) == _place(new):
        raise ConfigError(f"The bot uses {_shown(new)} already. Nothing was changed.")
    files = workspace.databases()
    if files and not files[0].is_file():
        raise ConfigError(f"There is no database at {files[0]}, so there is nothing to move. Nothing was changed.")
    with workspace.held():
        progress = _Progress()
        print(f"Moving {_shown(old)} to {_shown(new)}.", flush=True)
        try:
            moved = transfer(old, new, progress.line, progress.step)
        except KeyboardInterrupt:
            progress.line("Stopped. The bot still uses the old database; run the same command again to go on.")
            raise
        finally:
            progress.clear()
        _give_to_owner(workspace.root, new)
        print(f"Moved {moved.rows:,} rows in {moved.tables} tables. All were read back and compared.")
        for table, count in moved.mended.items():
            print(f"In {table}, {count:,} damaged texts have “\N{REPLACEMENT CHARACTER}” in place of what was broken.")
        print(_switch(workspace, new))
    print(f"The old database is as it was: {_shown(old)}. Delete it when the bot has answered from the new one.")
    print("Start the bot: `tierbot run`, or `sudo systemctl start tierbot` for a service.")
    return 0


def _asked(target: str) -> str:
    """The target, typed without echo or read from a pipe if it is `-`; empty after Ctrl-D."""
    if target != "-":
        return target
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    with suppress(EOFError):  # Ctrl-D
        return getpass.getpass("Address of the new database: ")
    return ""


def _address(target: str, workspace: Workspace) -> str:
    """The address for DATABASE_URL. Raises ConfigError."""
    if target == "sqlite":
        return f"sqlite:///{workspace.root / DATABASE_FILE}"
    if "://" not in target:
        if not target.endswith((".db", ".sqlite", ".sqlite3")):  # not shown: it may have a password
            raise ConfigError(
                "This is no database: give an address (postgresql://…), the word sqlite, or the path of a SQLite file "
                "that ends in .db, such as ./tierbot.db. Nothing was changed."
            )
        return f"sqlite:///{Path(target).expanduser().absolute()}"
    parsed = parse_url(target)
    if not is_sqlite(parsed):
        if not parsed.database:
            raise ConfigError(f"{_shown(target)} names no database: add /name. Nothing was changed.")
        return target
    if not parsed.database or parsed.database == ":memory:":
        raise ConfigError(f"{target} names no file: use sqlite:///path/to/tierbot.db. Nothing was changed.")
    return f"{parsed.drivername}:///{Path(parsed.database).absolute()}"


def _place(url: str) -> object:
    """What is equal for two addresses of one database."""
    parsed = parse_url(url)
    if is_sqlite(parsed):
        return Path(parsed.database or "").resolve()
    return parsed.host, parsed.port or 5432, parsed.database, parsed.query


def _shown(url: str) -> str:
    """A path, or the server's address without the password."""
    parsed = parse_url(url)
    if is_sqlite(parsed):
        return str(Path(parsed.database or "").absolute())
    return shown(parsed).replace("+asyncpg", "", 1)


def _switch(workspace: Workspace, url: str) -> str:
    """Set DATABASE_URL in `.env`, unless something else sets it. Returns what to tell."""
    path, given = workspace.env_file, workspace.environment.given
    values = {"DATABASE_URL": None if url == f"sqlite:///{workspace.root / DATABASE_FILE}" else url}
    values |= dict.fromkeys(_VARIABLES[1:])
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if load(given, env_file.changed(text, values)).settings.database != url:
        return (
            f"DATABASE_URL is set outside of {path}, which was therefore not changed: set it there to the address of "
            f"{_shown(url)} before you start the bot."
        )
    if not (path.exists() or any(values.values())):
        return f"{path} needs no DATABASE_URL."
    env_file.update(path, values)
    sync_folder(path.parent)
    return f"{path} names the new database now." if values["DATABASE_URL"] else f"DATABASE_URL is gone from {path}."


def _give_to_owner(root: Path, url: str) -> None:
    """If root moves another user's bot, let a new SQLite file, and folders of the workspace, be that user's."""
    parsed, owner = parse_url(url), root.stat()
    if not is_sqlite(parsed):
        return
    path = Path(parsed.database or "")
    sync_folder(path.parent)
    if os.geteuid() == 0 and owner.st_uid != 0:
        files = (path.with_name(f"{path.name}{ending}") for ending in SQLITE_ENDINGS)
        for each in (*files, *(folder for folder in path.parents if folder.is_relative_to(root))):
            if each.exists():
                os.chown(each, owner.st_uid, owner.st_gid)


class _Progress:
    """Prints a line for each table that is copied, and on a terminal also how far each step is."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()

    def line(self, words: str) -> None:
        self.clear()
        print(words, flush=True)

    def step(self, doing: str, table: str, done: int, total: int) -> None:
        if total and done == total:
            self.line(f"{table}: {total:,} {'row' if total == 1 else 'rows'}")
        elif self._live:
            of = f" of {total:,}" if total else ""
            print(f"\r\033[K{doing} {table}: {done:,}{of} rows", end="", flush=True)

    def clear(self) -> None:
        if self._live:
            print("\r\033[K", end="", flush=True)
