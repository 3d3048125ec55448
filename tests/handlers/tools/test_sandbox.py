"""The sandbox does its work: it runs things, says why it can't, takes turns, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handlers.tools.sandbox import Ran, Sandbox, SandboxLimits
from handlers.tools.sandbox.bubblewrap import FORMS, interpreter
from handlers.tools.sandbox.places import Busy, Places
from handlers.tools.sandbox.sandbox import NEEDED
from routing.errors import ToolFailed

ANN, BEN = 7, 8


def missing(what: str) -> None:
    """Skip by name; where every set was asked for, fail."""
    if os.environ.get("TIERBOT_SETS") == "all":
        pytest.fail(f"TIERBOT_SETS=all, but {what}")
    pytest.skip(f"system set: {what}")


async def made(tmp_path: Path, limits: SandboxLimits | None = None) -> Sandbox:
    """A sandbox that works, over `tmp_path/workspace/files`."""
    sandbox = Sandbox(tmp_path / "workspace" / "files", limits or SandboxLimits())
    if off := await sandbox.reason_off():
        missing(off)
    return sandbox


def home(tmp_path: Path, person: int = ANN) -> Path:
    """A person's folder as the machine sees it."""
    folder = tmp_path / "workspace" / "files" / str(person)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


async def shell(sandbox: Sandbox, line: str, person: int = ANN) -> Ran:
    return await sandbox.run(person, ["/bin/sh", "-c", line])


async def python(sandbox: Sandbox, code: str, *arguments: str) -> Ran:
    return await sandbox.run(ANN, [str(interpreter()), "-", *arguments], code.encode())


def pipes(tmp_path: Path, *names: str) -> list[Path]:
    """Named pipes in Ann's folder: how a command and a test wait for each other."""
    paths = [home(tmp_path) / name for name in names]
    for path in paths:
        os.mkfifo(path)
    return paths


async def heard(pipe: Path) -> str:
    """What a command writes into a pipe, once it does."""
    return await asyncio.to_thread(pipe.read_text)


def running(mark: str) -> list[str]:
    """Processes of the whole machine that have `mark` in their command line."""
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
async def test_output_and_errors_come_in_order_and_the_input_is_what_was_given(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    assert (await shell(sandbox, "echo a; echo b >&2; echo c; cat")).output == "a\nb\nc\n"
    assert (await sandbox.run(ANN, ["cat"], b"given\n" * 1000)).output == "given\n" * 1000
    assert (await sandbox.run(ANN, ["wc", "-c"], b"x" * 3_000_000)).output.strip() == "3000000"


@pytest.mark.system
async def test_a_signal_and_a_program_that_is_not_there_are_exit_codes(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    assert (await shell(sandbox, "kill -9 $$")).exit_code == 137
    assert (await sandbox.run(ANN, ["no-such-program"])).exit_code == 127


@pytest.mark.system
async def test_python_is_the_bots_own_version(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    code = "import sys, ssl, sqlite3, multiprocessing; multiprocessing.Lock(); print(sys.version)"
    assert (await python(sandbox, code)).output == f"{__import__('sys').version}\n"


@pytest.mark.system
async def test_without_proc_things_still_work_and_the_machines_is_not_shown_instead(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    sandbox.form = FORMS[-1]
    ran = await python(sandbox, "import os; print(os.path.exists('/proc'), os.getpid() < 20, os.listdir('/files'))")
    assert (ran.output, ran.exit_code) == ("False True []\n", 0)


async def test_without_bubblewrap_it_is_off_and_says_how_to_mend_that(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, SandboxLimits(), "bwrap-is-not-here")
    off = await sandbox.reason_off()
    assert off is not None and "sudo apt install bubblewrap" in off
    with pytest.raises(ToolFailed, match="sudo apt install bubblewrap"):
        await shell(sandbox, "true")


async def test_what_the_kernel_refuses_is_said_and_asked_once(tmp_path: Path) -> None:
    program, calls = tmp_path / "bwrap", tmp_path / "calls"
    program.write_text(
        f"#!/bin/sh\necho x >> {calls}\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    sandbox = Sandbox(tmp_path / "files", SandboxLimits(), str(program))
    told = await asyncio.gather(sandbox.reason_off(), sandbox.reason_off())
    assert told[0] == told[1] and told[0] is not None and "setting up uid map: Permission denied" in told[0]
    assert calls.read_text() == "x\n" * len(FORMS)
    assert not (tmp_path / "files").exists()


async def test_a_probe_that_failed_is_tried_again_later(tmp_path: Path) -> None:
    program, calls = tmp_path / "bwrap", tmp_path / "calls"
    program.write_text(f"#!/bin/sh\necho x >> {calls}\nexit 1\n")
    program.chmod(0o755)
    sandbox = Sandbox(tmp_path / "files", SandboxLimits(), str(program), again_seconds=0)
    for tries in (1, 2):
        assert await sandbox.reason_off() is not None
        assert calls.read_text() == "x\n" * len(FORMS) * tries


@pytest.mark.system
async def test_a_folder_for_the_probe_that_can_not_be_made_is_a_passing_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made(tmp_path)
    sandbox = Sandbox(tmp_path / "files", SandboxLimits(), again_seconds=0)
    with monkeypatch.context() as full:
        full.setattr(tempfile, "tempdir", "/nonexistent")
        assert "No such file or directory" in str(await sandbox.reason_off())
    assert await sandbox.reason_off() is None


async def test_an_old_bubblewrap_is_named(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: Unknown option --bind-fd' >&2\nexit 1\n")
    program.chmod(0o755)
    off = str(await Sandbox(tmp_path / "files", SandboxLimits(), str(program)).reason_off())
    assert off == f"bubblewrap is too old (bwrap: Unknown option --bind-fd): {NEEDED}"


@contextmanager
def workspace_among_programs() -> Iterator[Path]:
    """With a secret; skips where no folder of programs can be written to."""
    places = [place for place in (f"{sys.base_prefix}/share", "/usr/local/share") if os.access(place, os.W_OK)]
    if not places:
        missing("no folder of programs can be written to")
    with tempfile.TemporaryDirectory(dir=places[0]) as made:
        Path(made, ".env").write_text("SECRET")
        Path(made, "files").mkdir()
        yield Path(made)


@pytest.mark.system
async def test_a_workspace_among_the_programs_is_covered_by_whatever_path_it_has(tmp_path: Path) -> None:
    await made(tmp_path)
    with workspace_among_programs() as real:
        link = tmp_path / "link"
        link.symlink_to(real)
        for workspace in (real, link):
            sandbox = Sandbox(workspace / "files", SandboxLimits())
            assert await sandbox.reason_off() is None
            ran = await shell(sandbox, f"cat {real}/.env; ls {real}/..; echo mine > note; cat note")
            assert "SECRET" not in ran.output and ran.output.endswith("\nmine\n")
            assert real.name in ran.output


@pytest.mark.system
async def test_a_folder_that_a_command_closed_can_be_used_again(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    assert (await shell(sandbox, "mkdir below; chmod 000 below /files")).exit_code == 0
    assert (await shell(sandbox, "chmod 444 below; ls")).output == "below\n"


@pytest.mark.system
async def test_who_waits_too_long_is_told_that_others_were_first(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    one, two, go = pipes(tmp_path, "one", "two", "go")
    line = "echo up > {}; read x < go"
    running = [asyncio.create_task(shell(sandbox, line.format(name))) for name in ("one", "two")]
    await asyncio.gather(heard(one), heard(two))
    sandbox.wait_seconds = 0
    with pytest.raises(ToolFailed, match=r"busy with other commands.* was not begun: try again in a minute"):
        await shell(sandbox, "touch third")
    assert (await shell(sandbox, "echo mine", BEN)).output == "mine\n"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert go.exists() and not (home(tmp_path) / "third").exists()


async def test_places_go_round_among_the_persons() -> None:
    places, order, going = Places(2, 2), [], asyncio.Event()

    async def work(person: int, name: str) -> None:
        async with places.taken(person, 60):
            order.append(name)
            await going.wait() if name in ("a1", "a2") else await asyncio.sleep(0)

    tasks = []
    for person, name in [(1, "a1"), (1, "a2"), (1, "a3"), (1, "a4"), (2, "b1"), (2, "b2"), (3, "c1")]:
        tasks.append(asyncio.create_task(work(person, name)))
        await asyncio.sleep(0)
    assert order == ["a1", "a2"]
    going.set()
    await asyncio.gather(*tasks)
    assert order.index("b1") < order.index("a3") and order.index("c1") < order.index("a3")
    assert sorted(order) == ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]


async def test_a_place_that_nobody_waits_for_any_more_goes_to_the_next() -> None:
    places, held = Places(1, 1), asyncio.Event()
    got: list[str] = []

    async def work(person: int, name: str, until: asyncio.Event | None = None) -> None:
        async with places.taken(person, 60):
            got.append(name)
            await (until.wait() if until else asyncio.sleep(0))

    first = asyncio.create_task(work(1, "first", held))
    await asyncio.sleep(0)
    gone, last = asyncio.create_task(work(2, "gone")), asyncio.create_task(work(3, "last"))
    await asyncio.sleep(0)
    held.set()
    for _ in range(10):
        if places.waiting > 1:
            await asyncio.sleep(0)
    gone.cancel()  # its place was given in this very moment
    await asyncio.gather(first, last)
    assert got == ["first", "last"] and (await asyncio.gather(gone, return_exceptions=True))[0] is not None
    with pytest.raises(Busy):
        async with places.taken(4, 60), places.taken(5, 0):
            pass
    assert places.waiting == 0


@pytest.mark.system
async def test_background_processes_end_with_the_command(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    *up, go = pipes(tmp_path, "one", "two", "three", "go")
    inner = "sh -c 'echo up > {}; sleep 1000' 98761"
    line = f"nohup {inner.format('one')} & setsid {inner.format('two')} & ({inner.format('three')} &) ; cat go"
    command = asyncio.create_task(shell(sandbox, line))
    assert await asyncio.gather(*map(heard, up)) == ["up\n"] * 3
    assert len(running("98761")) >= 3
    await asyncio.to_thread(go.write_text, "gone\n")
    assert (await command).output == "gone\n"
    assert running("98761") == []


@pytest.mark.system
async def test_a_cancelled_command_leaves_no_process_behind(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    up = pipes(tmp_path, "one", "two")
    command = asyncio.create_task(
        shell(sandbox, "setsid sh -c 'echo up > one; sleep 999' 98762 & sh -c 'echo up > two; sleep 999' 98762")
    )
    await asyncio.gather(*map(heard, up))
    assert len(running("98762")) >= 2
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running("98762") == []
    assert (await shell(sandbox, "echo on")).output == "on\n"


@pytest.mark.system
async def test_a_second_cancellation_does_not_leave_half_of_it(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    (ready,) = pipes(tmp_path, "ready")
    command = asyncio.create_task(shell(sandbox, "echo up > ready; sleep 98763"))
    await heard(ready)
    command.cancel()
    await asyncio.sleep(0)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running("98763") == []


@pytest.mark.system
async def test_a_command_cancelled_before_it_began_leaves_nothing(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    for yields in range(12):
        command = asyncio.create_task(shell(sandbox, "sleep 98764"))
        for _ in range(yields):
            await asyncio.sleep(0)
        command.cancel()
        with pytest.raises(asyncio.CancelledError):
            await command
    assert running("98764") == []


@pytest.mark.system
async def test_a_third_command_of_a_person_waits_and_others_do_not(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    one, two, go = pipes(tmp_path, "one", "two", "go")
    line = "echo up > {}; read x < go"
    first, second = (asyncio.create_task(shell(sandbox, line.format(name))) for name in ("one", "two"))
    await asyncio.gather(heard(one), heard(two))
    third = asyncio.create_task(shell(sandbox, "touch third"))
    for _ in range(3):
        assert (await shell(sandbox, "echo mine", BEN)).output == "mine\n"
    assert not (home(tmp_path) / "third").exists() and not third.done()
    first.cancel()
    assert (await third).exit_code == 0
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert (home(tmp_path) / "third").exists()
    assert go.exists()


def test_the_interpreter_is_not_the_one_of_a_virtual_environment() -> None:
    assert interpreter().exists() and not (interpreter().parents[1] / "pyvenv.cfg").exists()
    assert shutil.which("bwrap") is None or os.access("/usr/bin/prlimit", os.X_OK)
