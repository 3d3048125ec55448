"""What an installation contains, checked offline from pyproject.toml and the files."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest

from handlers.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("bot", "handlers", "routing", "storage", "migrations")


def found() -> set[str]:
    """The packages as setuptools finds them: every folder that matches, with or without an __init__."""
    include = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    roots = [path for path in ROOT.iterdir() if path.is_dir() and path.name.isidentifier()]
    folders = [path for root in roots for path in (root, *root.rglob("*")) if path.is_dir()]
    names = {".".join(path.relative_to(ROOT).parts) for path in folders if path.name != "__pycache__"}
    return {name for name in names if any(fnmatch(name, pattern) for pattern in include)}


def test_the_package_cannot_be_uploaded_by_accident() -> None:
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


@pytest.mark.parametrize(
    ("target", "installed", "heavy"),
    [("embeddings", ".e5", ".sentence-transformers"), ("sentence-transformers", ".sentence-transformers", ".e5")],
)
def test_an_encoder_comes_without_the_other_and_the_tests_packages(target: str, installed: str, heavy: str) -> None:
    rules = dict(re.findall(r"^(\S+): (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    needed, wanted = set[str](), [target]
    while wanted:
        needed.add(each := wanted.pop())
        wanted += set(rules.get(each, "").split()) - needed
    assert f"$(VENV)/{installed}" in needed
    assert not {"$(VENV)/.dev", f"$(VENV)/{heavy}"} & needed


def test_the_installation_announces_its_steps() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = dict(re.findall(r"^(\S+):.*\n((?:\t.*\n)+)", text, re.MULTILINE))
    for target in ("$(VENV)/.base", "$(VENV)/.e5", "$(VENV)/.sentence-transformers"):
        steps = rules[target].splitlines()
        told = [before for before, step in pairwise(steps) if "$(PIP)" in step]
        assert told
        assert all(before.startswith("\t@echo ") for before in told)


def test_the_command_calls_main() -> None:
    module, _, name = PROJECT["project"]["scripts"]["tierbot"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_command_works_from_any_directory_with_the_workspace_of_its_project(tmp_path: Path) -> None:
    """The interpreter is a stand-in that prints its arguments."""
    project = tmp_path / "a project"
    command, python = project / "docker" / "tierbot", project / ".venv" / "bin" / "python"
    for path, text in (
        (command, (ROOT / "docker" / "tierbot").read_text(encoding="utf-8")),
        (python, '#!/bin/sh\nshift 2\nprintf "%s\\n" "$PWD" "$WORKSPACE" "$@"\n'),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    linked = python.with_name("tierbot")
    linked.symlink_to(command)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for given, workspace in (({}, f"{project}/workspace"), ({"WORKSPACE": "mine"}, "mine")):
        environment = {"PATH": os.environ["PATH"]} | given
        done = subprocess.run([linked, "chat", "a b"], cwd=elsewhere, env=environment, capture_output=True, text=True)
        assert done.stdout.splitlines() == [str(elsewhere), workspace, str(project), "chat", "a b"]


def test_the_command_finds_the_program(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()  # not this one
    (tmp_path / "bot" / "__main__.py").write_text("", encoding="utf-8")
    code = (ROOT / "docker" / "tierbot").read_text(encoding="utf-8").partition("-c '")[2].partition("'")[0]
    command = [sys.executable, "-c", code, str(ROOT), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"tierbot {VERSION}\n", "")


def test_the_version_is_defined_once() -> None:
    assert PROJECT["project"]["version"] == VERSION
