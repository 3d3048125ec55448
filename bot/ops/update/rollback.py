"""A copy of the program's Python environment, to go back to, and the journal of an unfinished update."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.ops.processes import run
from routing.atomic_file import write_text
from routing.errors import ConfigError

AT_FDCWD, RENAME_EXCHANGE = -100, 2


@dataclass(frozen=True, slots=True)
class Journal:
    """What an update that was not finished has to undo. `revision`: the old commit, empty for a package; `backup`: of
    the workspace; `running`: whether the service ran before."""

    version: str
    revision: str
    backup: str
    running: bool


class Rollback:
    """The environment `venv`, and what an update keeps beside it: the lock, the old environment, and the journal."""

    def __init__(self, venv: Path) -> None:
        self.venv = venv
        self.old = venv.with_name(f"{venv.name}.before")
        self.lock = venv.with_name(f"{venv.name}.update.lock")
        self._journal = venv.with_name(f"{venv.name}.update.json")

    def journal(self) -> Journal | None:
        """The journal of an update that was not finished."""
        try:
            return Journal(**json.loads(self._journal.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{self._journal} can't be read ({error}). Delete it, and {self.old}.") from None

    def begin(self, journal: Journal) -> None:
        """Write the journal: from here on, an update has to be finished or undone."""
        write_text(self._journal, json.dumps(asdict(journal)), 0o600)

    def end(self) -> None:
        """The update is finished or undone."""
        self._journal.unlink(missing_ok=True)
        self.discard()

    def keep(self) -> None:
        """Copy the environment with hard links, which takes seconds and no space. Programs that install packages
        replace files and don't change them, so the copy stays as it is. Raises ConfigError."""
        self.discard()
        part = self._part
        run(("cp", "--archive", "--link", "--no-target-directory", str(self.venv), str(part)))
        part.replace(self.old)

    def unfinished(self) -> bool:
        """Whether there is a journal, and still the old environment."""
        return self._journal.exists() and self.old.is_dir()

    def roll_back(self) -> None:
        """Exchange the environment with the copy, once."""
        if self.old.is_dir():
            exchange(self.venv, self.old)
            shutil.rmtree(self.old)

    def discard(self) -> None:
        """Delete the copies."""
        for path in (self._part, self.old):
            shutil.rmtree(path, ignore_errors=True)

    @property
    def _part(self) -> Path:
        return self.venv.with_name(f"{self.venv.name}.before.part")


def exchange(one: Path, other: Path) -> None:
    """Exchange two folders in one step, so that the program is there at every moment."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        if not libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE):
            return
        if ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))
    between = one.with_name(f"{one.name}.between")  # the file system can't exchange
    one.rename(between)
    other.rename(one)
    between.rename(other)


def this_environment() -> Path:
    """The environment of the running program. Raises ConfigError if it is the system's Python."""
    if sys.prefix == sys.base_prefix:
        raise ConfigError(
            "tierbot is installed in the system's Python, where an update can't be undone. Install it with `make`, "
            "`uv tool install` or `pipx install`."
        )
    return Path(sys.prefix).resolve()


def rescue() -> None:
    """If an update was interrupted while it replaced packages that the program needs, take the old ones back and start
    the program again, so that it can undo the rest. Needs only the standard library."""
    rollback = Rollback(Path(sys.prefix).resolve())
    if not rollback.unfinished():
        return
    try:
        for module in ("bot.cli", "bot.ops.update.update"):
            importlib.import_module(module)
    except (ImportError, SyntaxError, AttributeError):
        try:
            with rollback.lock.open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                rollback.roll_back()
        except BlockingIOError:
            sys.exit("tierbot: Another update is running.")
        except OSError as error:
            sys.exit(f"tierbot: The last update was interrupted, and can't be undone: {error}. Run this with sudo.")
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
