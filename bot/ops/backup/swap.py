"""Puts restored files in the place of the old ones. A journal makes it one step: once it is written, the next command
finishes what was interrupted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import Timeout

from bot.config.workspace import JOURNAL, locked
from routing.atomic_file import write_text
from routing.errors import ConfigError, system_reason
from storage.outgoing_files import sync_folder


@dataclass(frozen=True, slots=True)
class Move:
    """A rename within one file system."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Journal:
    """The renames, in order, and the folder to delete then. No target exists before, or an earlier move takes it away;
    no source is a target. With a `mark`, which no other restore has, they count only once the database server has it;
    without it there, nothing was changed."""

    moves: tuple[Move, ...]
    staging: str
    mark: str = ""


def write_journal(workspace: Path, journal: Journal) -> None:
    """From now on, the restore is finished or undone by `recover`. What the moves name must be synced."""
    write_text(workspace / JOURNAL, json.dumps(asdict(journal)), 0o600)
    sync_folder(workspace)


def finish(workspace: Path, journal: Journal) -> None:
    """Do the moves that are not done yet, then delete the journal. May be interrupted and repeated."""
    folders = set()
    for move in journal.moves:
        source, target = Path(move.source), Path(move.target)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.path.lexists(source) and not os.path.lexists(target):  # else it was done before
            source.rename(target)
        folders |= {source.parent, target.parent}
    for folder in folders:
        if folder.is_dir():
            sync_folder(folder)
    discard(workspace, journal)


def discard(workspace: Path, journal: Journal) -> None:
    """Delete the staged files and the journal."""
    shutil.rmtree(journal.staging, ignore_errors=True)
    (workspace / JOURNAL).unlink(missing_ok=True)
    sync_folder(workspace)


def recover(workspace: Path, loaded: Callable[[], str]) -> None:
    """Finish or undo a restore that was interrupted, if there is one. `loaded` returns the mark of the database server.
    Raises ConfigError."""
    if not (workspace / JOURNAL).exists():
        return
    try:
        with locked(workspace):
            journal = _read(workspace)
            if journal is None:
                return
            if journal.mark and journal.mark != loaded():
                discard(workspace, journal)
            else:
                finish(workspace, journal)
    except Timeout:
        raise ConfigError(f"A restore into {workspace} is running: wait until it is done.") from None
    except OSError as error:
        raise ConfigError(
            f"An interrupted restore into {workspace} can't be finished ({system_reason(error)}): make the folder and "
            "its parent writable for this user, then run this again."
        ) from error


def _read(workspace: Path) -> Journal | None:
    """The journal; None if another process has finished it meanwhile."""
    try:
        data = json.loads((workspace / JOURNAL).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Journal(tuple(Move(**each) for each in data["moves"]), data["staging"], data["mark"])
