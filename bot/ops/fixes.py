"""What `tierbot doctor --fix` does. Nothing here deletes or changes what a person has written."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bot.config.environment import Environment
from bot.config.workspace import Workspace, open_to_others
from routing.atomic_file import UNFINISHED
from routing.errors import ConfigError, system_reason
from storage.database.inspection import look
from storage.database.migrate import migrate

OLD_SECONDS = 3600.0
"""An unfinished file of this age belongs to a process that was killed."""
_UNFINISHED = re.compile(
    rf"tierbot-.+\.db\.part|\..+\.[a-z0-9_]{{8}}{re.escape(UNFINISHED)}"
    r"|\.(models|runtime-config|discovered|restore)\.json\.(new|[a-z0-9_]{8})"
    r"|\.(admin\.token|secrets\.key|\.env|\d{6}\.json)\.[a-z0-9_]{8}"
)
"""The last two lines are names of older versions."""


@dataclass(frozen=True, slots=True)
class Fix:
    """What was done, or (`failed`) why it was not."""

    name: str
    detail: str
    failed: bool = False


def fix(environment: Environment, workspace: Workspace) -> list[Fix]:
    """Repair what is safe to repair, and say what was done. Files that a running bot may be writing are left alone."""
    done = [*_folders(workspace), *_permissions(workspace)]
    try:
        workspace.prepare()
    except ConfigError:  # the bot runs; or the workspace can't be written, which the checks report
        return done
    try:
        return [*done, *_unfinished(workspace), *_migration(environment, workspace)]
    finally:
        workspace.release()


def _folders(workspace: Workspace) -> Iterator[Fix]:
    for folder in workspace.folders():
        if not folder.exists():
            yield from _try("folders", f"created {folder}", partial(folder.mkdir, mode=0o700, parents=True))


def _permissions(workspace: Workspace) -> Iterator[Fix]:
    for path in workspace.private():
        if mode := open_to_others(path):
            done = f"{path}: mode {mode:04o} is now {mode & 0o700:04o}, so that only this user can read it"
            yield from _try("permissions", done, partial(path.chmod, mode & 0o700))


def _unfinished(workspace: Workspace) -> Iterator[Fix]:
    """Files that a killed process has not finished writing."""
    for folder in (*workspace.folders(), workspace.edits):
        for path in sorted(folder.glob("*")):
            if _UNFINISHED.fullmatch(path.name) and path.is_file() and time.time() - path.stat().st_mtime > OLD_SECONDS:
                yield from _try("unfinished files", f"removed {path}, which was never completed", path.unlink)


def _migration(environment: Environment, workspace: Workspace) -> Iterator[Fix]:
    """Bring an older database to the current revision. A backup is made first."""
    url = environment.settings.database
    try:
        facts = asyncio.run(look(url))
        if facts is None or facts.status != "older" or facts.corruption:
            return
        before = migrate(url, workspace.backups)
    except ConfigError as error:
        yield Fix("database", str(error), failed=True)
        return
    yield Fix("database", f"migrated from revision {before}; a SQLite database has a copy in {workspace.backups}")


def _try(name: str, done: str, step: Callable[[], object]) -> Iterator[Fix]:
    try:
        step()
    except OSError as error:
        yield Fix(name, f"not {done} ({system_reason(error)})", failed=True)
    else:
        yield Fix(name, done)
