"""The sandbox runs commands correctly."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from handlers.tools.sandbox import ExecResult, Sandbox, SandboxLimits
from handlers.tools.sandbox.bubblewrap import ISOLATIONS, interpreter

ANN, BEN = 7, 8


def missing(what: str) -> None:
    """Skips with a reason; fails if TIERBOT_SETS=all."""
    if os.environ.get("TIERBOT_SETS") == "all":
        pytest.fail(f"TIERBOT_SETS=all, but {what}")
    pytest.skip(f"system set: {what}")


async def made(tmp_path: Path, limits: SandboxLimits | None = None) -> Sandbox:
    """A working sandbox over `tmp_path/workspace/files`."""
    sandbox = Sandbox(tmp_path / "workspace" / "files", limits or SandboxLimits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("handlers.tools.sandbox.sandbox.PROBE_SECONDS", 60.0)  # for a busy machine
        off = await sandbox.reason_off()
    if off:
        missing(off)
    return sandbox


def home(tmp_path: Path, person: int = ANN) -> Path:
    """A person's folder on the host."""
    folder = tmp_path / "workspace" / "files" / str(person)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


async def shell(sandbox: Sandbox, line: str, person: int = ANN) -> ExecResult:
    return await sandbox.run(person, ["/bin/sh", "-c", line])


async def python(sandbox: Sandbox, code: str, *arguments: str) -> ExecResult:
    return await sandbox.run(ANN, [str(interpreter()), "-", *arguments], code.encode())


def pipes(tmp_path: Path, *names: str) -> list[Path]:
    """Named pipes in Ann's folder, to synchronise commands and tests."""
    paths = [home(tmp_path) / name for name in names]
    for path in paths:
        os.mkfifo(path)
    return paths


async def read_pipe(pipe: Path) -> str:
    """What a command writes into a pipe."""
    return await asyncio.to_thread(pipe.read_text)


def unique() -> str:
    """An argument for `sleep` that no other process of this machine has."""
    return f"9{os.getpid():07}.{next(_numbers)}"


_numbers = count(1)


def running(mark: str) -> list[str]:
    """Host processes with `mark` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        found += [path.parent.name] if mark.encode() in words else []
    return found


@pytest.mark.system
async def test_a_command_works_in_the_persons_own_folder(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    ran = await shell(sandbox, "pwd; echo $HOME; id -un; hostname; echo hello > note; exit 3")
    assert (ran.output, ran.exit_code, ran.ended) == ("/files\n/files\nuser\nsandbox\n", 3, "exit")
    assert (home(tmp_path) / "note").read_text() == "hello\n"
    assert stat.S_IMODE(home(tmp_path).stat().st_mode) == 0o700


@pytest.mark.system
async def test_output_and_errors_are_interleaved_and_stdin_is_passed(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    assert (await shell(sandbox, "echo a; echo b >&2; echo c; cat")).output == "a\nb\nc\n"
    assert (await sandbox.run(ANN, ["cat"], b"given\n" * 1000)).output == "given\n" * 1000
    assert (await sandbox.run(ANN, ["wc", "-c"], b"x" * 3_000_000)).output.strip() == "3000000"


@pytest.mark.system
async def test_signals_and_missing_programs_become_exit_codes(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    assert (await shell(sandbox, "kill -9 $$")).exit_code == 137
    assert (await sandbox.run(ANN, ["no-such-program"])).exit_code == 127


@pytest.mark.system
async def test_python_is_the_bots_own_version(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    code = "import sys, ssl, sqlite3, multiprocessing; multiprocessing.Lock(); print(sys.version)"
    assert (await python(sandbox, code)).output == f"{__import__('sys').version}\n"


@pytest.mark.system
async def test_without_proc_commands_work_and_the_hosts_proc_is_hidden(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    sandbox.isolation = ISOLATIONS[-1]
    ran = await python(sandbox, "import os; print(os.path.exists('/proc'), os.getpid() < 20, os.listdir('/files'))")
    assert (ran.output, ran.exit_code) == ("False True []\n", 0)


@contextmanager
def workspace_among_programs() -> Iterator[Path]:
    """Contains a secret; skips if no system folder is writable."""
    places = [place for place in (f"{sys.base_prefix}/share", "/usr/local/share") if os.access(place, os.W_OK)]
    if not places:
        missing("no folder of programs can be written to")
    with tempfile.TemporaryDirectory(dir=places[0]) as made:
        Path(made, ".env").write_text("SECRET")
        Path(made, "files").mkdir()
        yield Path(made)


@pytest.mark.system
async def test_a_workspace_below_system_folders_is_hidden(tmp_path: Path) -> None:
    await made(tmp_path)
    with workspace_among_programs() as real:
        link = tmp_path / "link"
        link.symlink_to(real)
        for workspace in (real, link):
            sandbox = Sandbox(workspace / "files", SandboxLimits())
            assert await sandbox.reason_off() is None
            ran = await shell(sandbox, f"cat {real}/.env; ls {real}/..; echo mine > note; cat note")
            assert "SECRET" not in ran.output
            assert ran.output.endswith("\nmine\n")
            assert real.name in ran.output


@pytest.mark.system
async def test_a_folder_without_permissions_can_be_used_again(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    assert (await shell(sandbox, "mkdir below; chmod 000 below /files")).exit_code == 0
    assert (await shell(sandbox, "chmod 444 below; ls")).output == "below\n"


def test_the_interpreter_is_not_the_one_of_a_virtual_environment() -> None:
    assert interpreter().exists()
    assert not (interpreter().parents[1] / "pyvenv.cfg").exists()
    assert shutil.which("bwrap") is None or os.access("/usr/bin/prlimit", os.X_OK)
