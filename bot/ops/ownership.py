"""Who owns the files that root writes for another user."""

from __future__ import annotations

import os
import pwd
from pathlib import Path


def give_all(folder: Path, owner: int, group: int | None = None) -> None:
    """Make a folder and all in it belong to the user with this id, and to this group or else to the user's own."""
    group = pwd.getpwuid(owner).pw_gid if group is None else group
    for place, names, files in os.walk(folder):
        for name in (*names, *files):
            os.chown(Path(place, name), owner, group, follow_symlinks=False)
    os.chown(folder, owner, group)
