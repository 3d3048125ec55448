"""The folder with all of the bot's files, locked by one process at a time."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from filelock import AcquireReturnProxy, BaseFileLock, FileLock, Timeout

from bot.config.environment import Environment
from routing.atomic_file import write_text
from routing.catalog.catalog import BUNDLED, Catalog
from routing.catalog.ollama import address as ollama_address
from routing.config import jsonfile
from routing.config.jsonfile import JsonFile
from routing.config.runtime import RouterConfig, read_config
from routing.config.skills import read_skills
from routing.errors import ConfigError, file_reason
from routing.types.skills import Skills

DATABASE_FILE, LOCK = "tierbot.db", "tierbot.lock"
TERMINAL = "terminal"
"""Of terminal chats beside a running bot, see `bot/cli.py`: a folder with a database and a lock of its own."""
TERMINAL_DATABASE = f"{TERMINAL}/{DATABASE_FILE}"
JOURNAL = "restore.json"
"""What an interrupted restore has to do, see `bot/ops/backup/swap.py`."""
RESTORES = ".restore"
"""Where a restore works, and keeps what was there, if it can't do that beside the workspace."""
SQLITE_ENDINGS = ("", "-wal", "-shm", "-journal")
"""Endings of the files that belong to a SQLite database."""
_OURS = (DATABASE_FILE, LOCK, "preferences/runtime-config.json", "models/models.json", JOURNAL, RESTORES)
_HARMLESS = {".env", "lost+found"}
"""A person may have made the first before the first start; the second is of the file system."""

log = logging.getLogger("bot.config.workspace")


class Workspace:
    """Paths and files in WORKSPACE. ConfigErrors name the file, the line and the reason.

    `conceal` is called with keys found in the configuration, which must not appear in logs. `own` is the folder for the
    lock, conversations and files (default: the workspace).
    """

    def __init__(
        self,
        environment: Environment,
        conceal: Callable[[Iterable[str]], None] | None = None,
        own: Path | None = None,
    ) -> None:
        self.environment = environment
        self._conceal = conceal
        self.root = environment.settings.workspace
        own = own or self.root
        self.backups = own / "backups"
        self.models = self.root / "models"
        self.catalog_file = self.models / "models.json"
        self.discovered_file = self.models / "discovered.json"
        self.config_file = self.root / "preferences" / "runtime-config.json"
        self.env_file = self.root / ".env"
        self.system_file = self.root / "SYSTEM.md"
        self.skills_folder = self.root / "skills"
        self.toolkits_folder = self.root / "toolkits"
        self.mcp_file = self.root / "mcp.json"
        self.tool_index = own / "cache" / "tools.index"
        self.files = own / "files"
        self.outgoing = own / "outgoing"
        self.console_history = own / "console-history"
        self.secrets_key = own / "secrets.key"
        self.edits = own / "edits"
        self.admin_token = own / "admin.token"
        self.lock_file = own / LOCK
        self._lock = FileLock(self.lock_file)

    def prepare(self) -> None:
        """Create the folders, take the lock, and copy the model catalogue on the first start. Raises ConfigError."""
        try:
            for folder in self.folders():
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._restrict_permissions()
            _acquire(self._lock)
            if not self.catalog_file.exists():
                write_text(self.catalog_file, BUNDLED.read_text(encoding="utf-8"), 0o600)
        except Timeout:
            raise ConfigError(
                f"Another tierbot already runs in {self.root}. Stop it first, or set WORKSPACE to another folder."
            ) from None
        except OSError as error:
            raise ConfigError(
                f"The workspace {self.root} can't be written ({error.strerror}): make it writable for this user, "
                "free some space, or set WORKSPACE to another folder."
            ) from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which this process alone uses the workspace, see `prepare`."""
        self.prepare()
        try:
            yield
        finally:
            self.release()

    def folders(self) -> tuple[Path, ...]:
        """The folders that always exist."""
        editable = (self.config_file.parent, self.skills_folder, self.toolkits_folder)
        return (self.root, self.backups, self.models, *editable, self.files)

    def private(self) -> Iterator[Path]:
        """All paths that hold conversations, keys or data derived from them."""
        yield self.root
        yield from (self.root / ".env", self.config_file, self.mcp_file, self.system_file, self.console_history)
        yield from (self.secrets_key, self.admin_token)
        yield from (
            self.tool_index.parent,
            self.tool_index,
            self.backups,
            *self.backups.glob("*"),
            self.files,
            self.outgoing,
            self.edits,
            *self.edits.glob("*"),
        )
        yield from self.databases()

    def _restrict_permissions(self) -> None:
        """Remove other users' permissions from files of older versions and from folders created by others."""
        for path in self.private():
            try:
                loose = open_to_others(path)
                if loose:
                    path.chmod(loose & 0o700)
            except PermissionError:
                log.warning("Other users of this machine can read %s, and it belongs to another user.", path)

    def databases(self) -> tuple[Path, ...]:
        """SQLite's files; none for a database server."""
        url = self.environment.settings.database
        if not url.startswith("sqlite"):
            return ()
        path = url.partition("///")[2].partition("?")[0]
        return tuple(Path(f"{path}{ending}") for ending in SQLITE_ENDINGS) if path else ()

    def in_use(self) -> bool:
        """Whether a process holds the lock. Creates no file."""
        try:
            handle = os.open(self.lock_file, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def catalog(self) -> Catalog:
        """The model catalogue: the owner's copy, or the bundled one before the first start."""
        return Catalog.load(self.catalog_file if self.catalog_file.exists() else BUNDLED)

    def config(self, file: JsonFile | None = None) -> RouterConfig:
        """The configuration in `file` (default: runtime-config.json), merged with the environment."""
        settings = self.environment.settings
        file = file or self.config_source()
        allowed = tuple(filter(None, map(str.strip, settings.bot_model_selection_allowed_providers.split(","))))
        ollama = ollama_address(settings.ollama_host)
        environment = self.environment
        config = read_config(file, environment.keys, settings.pools, allowed, ollama, environment.variables)
        self.conceal(profile.api_key for profile in config.profiles.values() if profile.api_key)
        return config

    def conceal(self, secrets: Iterable[str]) -> None:
        """Keep these texts out of logs."""
        if self._conceal is not None:
            self._conceal(secrets)

    def reload_environment(self) -> tuple[str, ...]:
        """Read `.env` again; returns changed variables that need a restart. Raises ConfigError."""
        waiting = self.environment.reload()
        self.conceal(self.environment.secrets())
        return waiting

    def config_source(self) -> JsonFile:
        """runtime-config.json; empty if it does not exist."""
        return jsonfile.load(self.config_file) if self.config_file.exists() else jsonfile.parse("{}", "defaults")

    def instructions(self) -> str:
        """Content of SYSTEM.md; empty if it does not exist."""
        if not self.system_file.exists():
            return ""
        try:
            return self.system_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                "{path} can't be read: {reason}.", path=self.system_file, reason=file_reason(error)
            ) from None

    def skills(self) -> Skills:
        """The skills, and the errors of broken ones."""
        return read_skills(self.skills_folder)

    def forget_files(self, person_id: int) -> None:
        """Delete the files of a person's tools, including those that a command made unreadable."""
        folder = self.files / str(person_id)
        # shutil.rmtree fails on deeply nested trees, which a command can create.
        for step in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*step, "--", str(folder)], check=False, capture_output=True, timeout=600)

    def adopt_files(self, was: int, person_id: int) -> None:
        """Move the files of one person to another, into a subfolder if that person already has files."""
        theirs, own = self.files / str(was), self.files / str(person_id)
        if not theirs.is_dir():
            return
        if own.exists():
            own /= next(name for n in count(1) if not os.path.lexists(own / (name := f"linked-{n}")))
        theirs.rename(own)

    def stamps(self) -> Mapping[Path, float]:
        """Modification times of the files that people edit."""
        skills = self.skills_folder.glob("*/SKILL.md") if self.skills_folder.is_dir() else ()
        files = (self.env_file, self.catalog_file, self.config_file, self.system_file, *skills)
        return {path: path.stat().st_mtime for path in files if path.exists()}


def is_workspace(folder: Path) -> bool:
    """Whether a bot or a restore has worked in this folder."""
    return any(os.path.lexists(folder / name) for name in _OURS)


def refuse_other_folder(folder: Path) -> None:
    """Raise ConfigError for a folder with other things, such as a home folder or another program's."""
    names = {path.name for path in folder.iterdir()} - _HARMLESS if folder.is_dir() else set()
    if names and not is_workspace(folder):
        raise ConfigError(
            f"{folder} is no workspace of tierbot, and not empty: choose another folder. Nothing was changed."
        )


def locked(folder: Path) -> AcquireReturnProxy:
    """A block in which this process alone uses a workspace. Raises filelock.Timeout if another one does."""
    return _acquire(FileLock(folder / LOCK))


def _acquire(lock: BaseFileLock) -> AcquireReturnProxy:
    return lock.acquire(timeout=0.2, poll_interval=0.02)  # `doctor` holds it for a moment when it checks it


def open_to_others(path: Path) -> int:
    """The mode of a path if its group or others have any permission, else 0."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0
    return mode if mode & 0o077 else 0
