"""Sandbox settings, and errors that name the wrong value."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from handlers.tools.sandbox import SandboxLimits
from routing.errors import ConfigError


def limits(tmp_path: Path, document: dict[str, object]) -> SandboxLimits:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}))
    workspace.config_file.parent.mkdir(parents=True, exist_ok=True)
    workspace.config_file.write_text(json.dumps(document), encoding="utf-8")
    return workspace.config().sandbox


def test_defaults_apply_without_a_section(tmp_path: Path) -> None:
    assert limits(tmp_path, {}) == replace(SandboxLimits(), output_chars=90_000)


def test_every_value_can_be_set(tmp_path: Path) -> None:
    given = {"seconds": 5, "memoryMb": 64, "processes": 3, "folderMb": 10, "files": 7, "network": True}
    expected = SandboxLimits(5.0, 64 * 2**20, 3, 10 * 2**20, 7, 90_000, True)
    assert limits(tmp_path, {"sandbox": given}) == expected


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"memoryMb": "much"}, {"network": "no"}])
def test_a_wrong_value_is_named(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"sandbox.{next(iter(wrong))}"):
        limits(tmp_path, {"sandbox": wrong})
