"""What an installation would carry; offline, from pyproject and the files."""

from __future__ import annotations

import importlib
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from bot.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("bot", "handlers", "routing", "storage", "migrations")


def found() -> set[str]:
    """The packages as setuptools finds them: every folder whose dotted name fits, with or without an __init__."""
    include = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    roots = [path for path in ROOT.iterdir() if path.is_dir() and path.name.isidentifier()]
    folders = [path for root in roots for path in (root, *root.rglob("*")) if path.is_dir()]
    names = {".".join(path.relative_to(ROOT).parts) for path in folders if path.name != "__pycache__"}
    return {name for name in names if any(fnmatch(name, pattern) for pattern in include)}


def test_nobody_can_upload_it_by_accident() -> None:
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]


def test_every_module_and_every_data_file_is_installed() -> None:
    packages, patterns = found(), PROJECT["tool"]["setuptools"]["package-data"]["*"]
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()]
    mine = [path for path in files if path.suffix != ".pyc"]
    homeless = [path for path in mine if ".".join(path.parent.relative_to(ROOT).parts) not in packages]
    untold = [
        path for path in mine if path.suffix != ".py" and not any(fnmatch(path.name, pattern) for pattern in patterns)
    ]
    assert (homeless, untold) == ([], [])


def test_nothing_but_the_program_is_installed() -> None:
    assert {name.partition(".")[0] for name in found()} == set(PACKAGES)


def test_the_command_leads_to_main() -> None:
    module, _, name = PROJECT["project"]["scripts"]["tierbot"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_version_is_said_once_in_effect() -> None:
    assert PROJECT["project"]["version"] == VERSION
