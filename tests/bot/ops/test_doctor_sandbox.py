"""The doctor's check of the sandbox."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.findings import Finding
from bot.ops.checks.inspection import Inspection
from bot.ops.checks.sandbox import sandbox, sandbox_check
from bot.ops.doctor import CHECKS
from tests.handlers.tools.sandbox.test_sandbox import made

ROOT = Path(__file__).resolve().parents[3]


def inspection(tmp_path: Path) -> Inspection:
    environment = load({"WORKSPACE": str(tmp_path / "workspace")})
    return Inspection(environment, Workspace(environment), time.time)


def test_the_doctor_checks_the_sandbox() -> None:
    assert sandbox in CHECKS


@pytest.mark.system
@pytest.mark.parametrize(("user", "statuses"), [(1000, ["ok"]), (0, ["ok", "warn"])])
async def test_a_working_sandbox(tmp_path: Path, user: int, statuses: list[str]) -> None:
    await made(tmp_path / "other")
    found = await sandbox_check(user=lambda: user)(inspection(tmp_path))
    assert [finding.status for finding in found] == statuses
    assert found[0].detail.startswith("bubblewrap 0.")
    assert not (tmp_path / "workspace").exists()
    assert all("root" in finding.detail and finding.fix for finding in found[1:])


async def test_bubblewrap_is_missing(tmp_path: Path) -> None:
    found = await sandbox_check("bwrap-is-not-here")(inspection(tmp_path))
    assert [(finding.status, finding.name) for finding in found] == [("warn", "sandbox")]
    assert "run_command and run_python_code are off: bubblewrap is not installed" in found[0].detail
    assert "sudo apt install bubblewrap" in found[0].fix


async def test_the_kernel_refuses_namespaces(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n")
    program.chmod(0o755)
    (found,) = await sandbox_check(str(program))(inspection(tmp_path))
    assert isinstance(found, Finding)
    assert found.status == "warn"
    assert "Creating new namespace failed" in found.detail
    assert "namespaces" in found.fix
    places = re.findall(r"docker/[a-z.]+", found.fix)
    assert len(places) == 2, "for a service and for a container"
    assert all((ROOT / place).is_file() for place in places)


async def test_bubblewrap_is_too_old(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Unknown option --bind-fd' >&2\nexit 1\n")
    program.chmod(0o755)
    (found,) = await sandbox_check(str(program))(inspection(tmp_path))
    assert "too old (bwrap: Unknown option --bind-fd): 0.10 or newer" in found.detail
    assert "apt install bubblewrap" in found.fix
    assert "namespaces" not in found.fix
