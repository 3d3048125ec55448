"""Writes a file so that readers see the old content or the new one, and never a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

UNFINISHED = ".new"
"""How the names of files end that are being written, also those of a process that was killed; they begin with a dot."""


def write_text(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file at once, also through a symbolic link and in case of a power failure.

    Without `mode`, the permissions of the file stay, and a new one gets 0600. What root writes belongs to the owner of
    the old file or else of its folder, because the bot's user must be able to read it. Raises OSError, and then the
    file is as it was.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=UNFINISHED)
    new = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        old = target.stat() if target.exists() else None
        new.chmod(mode if mode is not None else old.st_mode & 0o777 if old else 0o600)
        if not os.geteuid():
            owner = old or target.parent.stat()
            os.chown(new, owner.st_uid, owner.st_gid)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
