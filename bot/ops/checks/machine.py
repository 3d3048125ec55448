"""Checks of the machine: program, workspace, disk, clock."""

from __future__ import annotations

import os
import platform
import shutil
import time
from pathlib import Path

from bot.config.workspace import open_to_others
from bot.findings import Finding, fail, ok, size, warn
from bot.ops.checks.inspection import Inspection
from handlers.version import VERSION
from routing.errors import Reason

TIGHT_BYTES, FULL_BYTES = 500e6, 50e6
"""The first leaves room for a backup of a large database and a few attachments; below the second, not even a migration
fits."""
FIRST_YEAR, LAST_YEAR = 2026, 2100
"""Without a battery-backed clock, a machine starts in 1970 or at the date of its image."""


async def program(inspection: Inspection) -> list[Finding]:
    """Versions, and whether the bot is running."""
    running = "running" if inspection.workspace.in_use() else "not running"
    version = f"{VERSION}, Python {platform.python_version()}, {platform.machine()}"
    return [ok("tierbot", f"{version}; {running} in {inspection.workspace.root.absolute()}")]


async def workspace(inspection: Inspection) -> list[Finding]:
    """Workspace folder, and permissions of the files with secrets."""
    root = inspection.workspace.root
    place = _existing(root)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        fix = Reason("Make {place} writable for this user, or set WORKSPACE to another folder.", place=place)
        return [fail("workspace", Reason("{root} can't be written", root=root), fix)]
    state = "writable" if root.exists() else "not there yet; the first start creates it"
    loose = ((path, open_to_others(path)) for path in inspection.workspace.private())
    return [ok("workspace", state), *(_readable(path, mode) for path, mode in loose if mode)]


async def disk(inspection: Inspection) -> list[Finding]:
    """Free space at the workspace, even if it does not exist yet."""
    free = shutil.disk_usage(_existing(inspection.workspace.root)).free
    if free < FULL_BYTES:
        fix = Reason("Free some space: a full disk stops the bot.")
        return [fail("disk", Reason("only {size} free", size=size(free)), fix)]
    if free < TIGHT_BYTES:
        return [warn("disk", Reason("{size} free", size=size(free)), Reason("Free some space before it is full."))]
    return [ok("disk", f"{size(free)} free")]


async def year(inspection: Inspection) -> list[Finding]:
    """Whether the clock has been set."""
    now = time.gmtime(inspection.clock())
    if FIRST_YEAR <= now.tm_year <= LAST_YEAR:
        return [ok("date", time.strftime("%Y-%m-%d %H:%M UTC", now))]
    fix = Reason("Turn time synchronisation on: sudo timedatectl set-ntp true")
    words = "the clock says {year}, so no certificate is valid"
    return [fail("date", Reason(words, year=str(now.tm_year)), fix)]


def _existing(path: Path) -> Path:
    """The path, or its nearest existing ancestor."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _readable(path: Path, mode: int) -> Finding:
    words = "{path} can be read by others ({mode})"
    fix = Reason("chmod {mode} {path}", mode=f"{mode & 0o700:o}", path=path)
    return warn("permissions", Reason(words, path=path, mode=f"{mode:04o}"), fix)
