"""Workspaces with files and a filled database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.ops.backup.backup import make
from storage.database.migrate import migrate
from tests.storage.every_table import fill

Opened = Callable[..., Workspace]


def opened(folder: Path, **environ: str) -> Workspace:
    """A workspace with this environment."""
    return Workspace(load({"WORKSPACE": str(folder), **environ}))


@pytest.fixture(autouse=True)
def fast_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key takes 0.1 s otherwise."""
    monkeypatch.setattr("bot.ops.backup.encryption._SCRYPT", {"n": 4, "r": 8, "p": 1})


@pytest.fixture(scope="session")
def filled_database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with three rows in every table."""
    path = tmp_path_factory.mktemp("filled") / "tierbot.db"
    migrate(f"sqlite:///{path}", path.parent)
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.begin() as connection:
        fill(connection, 3)
    return path.read_bytes()


@pytest.fixture
def filled(in_memory: Path, filled_database: bytes) -> Workspace:
    """A workspace with a database, files of every kind, and what no backup holds."""
    workspace = opened(in_memory / "ws")
    workspace.prepare()
    workspace.release()
    (workspace.root / "tierbot.db").write_bytes(filled_database)
    files: dict[str, str | bytes] = {
        ".env": "OPENAI_API_KEY=sk-test-0\n",
        "SYSTEM.md": "Be kind.",
        "skills/tea/SKILL.md": "Tea.",
        "files/7/ünï 🎉.txt": "hello",
        "files/7/line\nbreak\\": "odd",
        "files/7/tool.sh": "#!/bin/sh",
        "files/7/notes.new": "a person's own",
        "outgoing/abc": os.urandom(3000),
        "secrets.key": "k",
        "models/weights.gguf": "large",
        "models/voices/voice.onnx": "large",
        "cache/tools.index": "cached",
        "edits/1.json": "an older key",
        "backups/old.tar.gz": "old",
    }
    for name, content in files.items():
        path = workspace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (workspace.root / "files/7/tool.sh").chmod(0o700)
    os.utime(workspace.root / "files/7/tool.sh", (1e9, 1e9 + 0.5))
    (workspace.root / "files/7/closed").mkdir(mode=0o500)
    (workspace.root / "files/7/python").symlink_to("/usr/bin/python3")
    (workspace.root / "skills/drink").symlink_to("tea")
    return workspace


LEFT = ("backups", "cache", "edits", "models/weights.gguf", "models/voices", "tierbot.lock")


def tree(root: Path) -> dict[str, object]:
    """What a backup of a workspace has to hold: mode, time and content by path; a link's target."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith((*LEFT, "tierbot.db", ".restore")):
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_dir():
            found[name] = path.stat().st_mode
        else:
            found[name] = (path.stat().st_mode, path.stat().st_mtime, path.read_bytes())
    return found


def rows(database: Path) -> list[str]:
    """The whole database as SQL."""
    connection = sqlite3.connect(database)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def names_beside(workspace: Workspace) -> set[str]:
    return {path.name for path in workspace.root.parent.iterdir()}


@pytest.fixture
def archive(filled: Workspace) -> Path:
    return make(filled, filled.root.parent / "backup.tar.gz").path
