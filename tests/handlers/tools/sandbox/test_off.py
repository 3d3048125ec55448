"""The sandbox explains why it is off, and how to fix that."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest

from handlers.tools.sandbox import Sandbox, SandboxLimits
from handlers.tools.sandbox.bubblewrap import ISOLATIONS
from routing.errors import ToolFailed
from tests.handlers.tools.sandbox.test_sandbox import made, shell


async def test_without_bubblewrap_the_sandbox_is_off_with_instructions(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, SandboxLimits(), "bwrap-is-not-here")
    off = await sandbox.reason_off()
    assert off is not None
    assert "sudo apt install bubblewrap" in off
    with pytest.raises(ToolFailed, match="sudo apt install bubblewrap"):
        await shell(sandbox, "true")


async def test_a_kernel_refusal_is_reported_and_probed_once(tmp_path: Path) -> None:
    program, calls = tmp_path / "bwrap", tmp_path / "calls"
    program.write_text(
        f"#!/bin/sh\necho x >> {calls}\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    sandbox = Sandbox(tmp_path / "files", SandboxLimits(), str(program))
    told = await asyncio.gather(sandbox.reason_off(), sandbox.reason_off())
    assert told[0] == told[1]
    assert told[0] is not None
    assert "setting up uid map: Permission denied" in told[0]
    assert calls.read_text() == "x\n" * len(ISOLATIONS)
    assert not (tmp_path / "files").exists()


async def test_a_probe_that_failed_is_tried_again_later(tmp_path: Path) -> None:
    program, calls = tmp_path / "bwrap", tmp_path / "calls"
    program.write_text(f"#!/bin/sh\necho x >> {calls}\nexit 1\n")
    program.chmod(0o755)
    sandbox = Sandbox(tmp_path / "files", SandboxLimits(), str(program), retry_seconds=0)
    for tries in (1, 2):
        assert await sandbox.reason_off() is not None
        assert calls.read_text() == "x\n" * len(ISOLATIONS) * tries


@pytest.mark.system
async def test_a_failed_probe_folder_is_a_temporary_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await made(tmp_path)
    sandbox = Sandbox(tmp_path / "files", SandboxLimits(), retry_seconds=0)
    with monkeypatch.context() as full:
        full.setattr(tempfile, "tempdir", "/nonexistent")
        assert "No such file or directory" in str(await sandbox.reason_off())
    assert await sandbox.reason_off() is None


async def test_an_old_bubblewrap_is_named(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Unknown option --bind-fd' >&2\nexit 1\n")
    program.chmod(0o755)
    off = str(await Sandbox(tmp_path / "files", SandboxLimits(), str(program)).reason_off())
    assert off.startswith("bubblewrap is too old (bwrap: Unknown option --bind-fd): 0.10 or newer is needed")
