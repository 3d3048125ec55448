"""What a backup holds and names, and what is left of one that fails."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.config.workspace import Workspace
from bot.ops.backup.backup import make
from bot.ops.backup.contents import is_safe_link
from bot.ops.backup.restore import restore
from routing.errors import ConfigError
from tests.bot.ops.backup.conftest import names_beside, opened, rows, tree


def test_a_terminal_chat_beside_the_bot_is_in_the_backup(filled: Workspace, filled_database: bytes) -> None:
    (filled.root / "terminal/files").mkdir(parents=True)
    (filled.root / "terminal/tierbot.db").write_bytes(filled_database)
    (filled.root / "terminal/tierbot.db-wal").write_bytes(b"")
    made = make(filled, filled.root.parent / "backup.tar.gz")
    other = opened(filled.root.parent / "other")
    restore(other, str(made.path))
    assert rows(other.root / "terminal/tierbot.db") == rows(filled.root / "tierbot.db")
    assert (other.root / "terminal/files").is_dir()


def test_what_can_not_be_in_a_backup_is_named(filled: Workspace) -> None:
    (filled.root / "skills/mine").symlink_to("/home/me/skills")
    os.mkfifo(filled.root / "files/7/pipe")
    deep = filled.root / "files/7" / "/".join("d" for _ in range(80))
    deep.mkdir(parents=True)
    made = make(filled, filled.root.parent / "backup.tar.gz")
    reasons = {path.split("/d/")[0]: reason for path, reason in made.skipped}
    assert reasons == {
        "skills/mine": "it is a link that leads out of the workspace",
        "files/7/pipe": "it is neither a file nor a folder",
        "files/7": "it is too deep in folders",
    }


@pytest.mark.parametrize(
    ("path", "target", "safe"),
    [
        ("a", "b", True),
        ("a", "b/c", True),
        ("x/a", "../b", True),
        ("a", "../b", False),
        ("x/a", "../../b", False),
        ("a", "/etc/passwd", False),
        ("a", "b/../../c", False),
        ("x/y/a", "../b/../c", False),
        ("files/7/a", "/etc/passwd", True),
    ],
)
def test_links_stay_in_the_workspace(path: str, target: str, safe: bool) -> None:
    assert is_safe_link(path, target) is safe


def test_another_file_is_not_overwritten_by_a_backup(filled: Workspace) -> None:
    mine = filled.root.parent / "thesis.doc"
    mine.write_bytes(b"years of work")
    with pytest.raises(ConfigError, match="is no backup"):
        make(filled, mine)
    with pytest.raises(ConfigError, match="is a folder"):
        make(filled, filled.root)
    assert mine.read_bytes() == b"years of work"
    first = make(filled, filled.root.parent / "backup.tar.gz")
    assert make(filled, first.path).path == first.path


def test_a_pipe_is_refused_instead_of_waited_for(filled: Workspace) -> None:
    pipe = filled.root.parent / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="is no file"):
        make(filled, pipe)
    with pytest.raises(ConfigError, match="is no file"):
        restore(filled, str(pipe))


def test_a_backup_in_the_workspace_does_not_hold_the_one_before(filled: Workspace) -> None:
    first = make(filled, filled.root / "backup.tar.gz")
    assert make(filled, first.path).files == first.files


def test_a_backup_can_be_stopped(filled: Workspace) -> None:
    class Stopped(Exception):
        pass

    steps = 0

    def stop() -> None:
        nonlocal steps
        steps += 1
        if steps == 10:
            raise Stopped

    with pytest.raises(Stopped):
        make(filled, filled.root.parent / "backup.tar.gz", stop)
    assert names_beside(filled) == {"ws"}


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """As on a full disk, no file of this process can grow beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_said_and_nothing_is_left_half(filled: Workspace) -> None:
    (filled.root / "files/7/large").write_bytes(os.urandom(1_500_000))
    before, target = tree(filled.root), filled.root.parent / "backup.tar.gz"
    for size in (4_096, 100_000, 1_000_000):
        with files_up_to(size), pytest.raises(ConfigError, match=r"can't be (written|used)"):
            make(filled, target)
        assert names_beside(filled) == {"ws"}
    make(filled, target)
    (filled.root / "SYSTEM.md").write_text("Be rude.", encoding="utf-8")
    before = tree(filled.root)
    for size in (4_096, 100_000, 1_000_000):
        with files_up_to(size), pytest.raises(ConfigError, match="Nothing was changed"):
            restore(filled, str(target))
        assert tree(filled.root) == before
        assert names_beside(filled) == {"ws", "backup.tar.gz"}
    with files_up_to(100_000), pytest.raises(ConfigError):
        restore(opened(filled.root.parent / "new"), str(target))
    assert names_beside(filled) == {"ws", "backup.tar.gz"}


def test_a_failed_backup_leaves_the_one_before(filled: Workspace, archive: Path) -> None:
    before = archive.read_bytes()
    with files_up_to(100), pytest.raises(ConfigError):
        make(filled, archive)
    assert archive.read_bytes() == before
