"""Attacks on the person's folder, other people's, the bot and the host. Each is also tried where it must succeed, so
that a broken attack can't pass."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import FrameType

import pytest

from handlers.tools.sandbox import Sandbox
from handlers.tools.sandbox.bubblewrap import Bubblewrap
from handlers.tools.sandbox.sandbox import MAX_RUNNING
from routing.errors import ToolFailed
from tests.handlers.tools.sandbox.outside import SECRET, outside, outsider
from tests.handlers.tools.sandbox.test_sandbox import BEN, home, made, pipes, python, read_pipe, shell

pytestmark = pytest.mark.system


async def test_links_in_the_folder_do_not_escape(tmp_path: Path, secret: Path) -> None:
    link = home(tmp_path) / "link"
    link.symlink_to(secret)
    (home(tmp_path) / "up").symlink_to("../..")
    assert link.read_text() == (home(tmp_path) / "up" / ".env").read_text() == SECRET
    ran = await shell(await made(tmp_path), "cat link; cat up/.env; ls -a up/; cat up/workspace/.env; echo done")
    assert SECRET not in ran.output
    assert ran.output.endswith("done\n")
    assert "No such file" in ran.output


async def test_parent_paths_end_at_the_sandbox_root(tmp_path: Path, secret: Path) -> None:
    assert (home(tmp_path) / ".." / ".." / ".env").read_text() == SECRET
    sandbox = await made(tmp_path)
    ran = await shell(sandbox, "cat ../../.env; cat /files/../../../.env; find .. -maxdepth 3 -name .env; cd ..; pwd")
    assert SECRET not in ran.output
    assert ran.output.endswith("\n/\n")


async def test_host_paths_do_not_exist(tmp_path: Path, secret: Path) -> None:
    ours = Path(__file__)
    hidden = [secret, secret.parent, ours, Path("/etc/shadow"), Path("/boot"), Path("/var"), Path("/run"), Path("/sys")]
    assert all(map(os.path.lexists, hidden))
    ran = await shell(await made(tmp_path), f"cat {secret}; ls -d {' '.join(map(str, hidden))}")
    assert SECRET not in ran.output
    assert ran.output.count("No such file") == len(hidden) + 1


async def test_nothing_of_the_bot_can_be_imported(tmp_path: Path) -> None:
    code = """
import importlib.util
print([name for name in ("bot", "handlers", "routing", "storage", "json") if importlib.util.find_spec(name)])
"""
    assert "handlers" in await outside(sys.executable, "-c", code, cwd=Path(__file__).parents[4])
    assert (await python(await made(tmp_path), code)).output == "['json']\n"


async def test_the_environment_has_four_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", SECRET)
    ran = await shell(
        await made(tmp_path), "env; tr '\\0' '\\n' </proc/1/environ; cat /proc/*/environ; cat /proc/*/cmdline"
    )
    assert SECRET not in ran.output
    assert str(tmp_path) not in ran.output
    env = (await shell(await made(tmp_path), "env")).output.splitlines()
    assert {line.partition("=")[0] for line in env} == {"PATH", "HOME", "LANG", "TERM", "PWD"}


async def test_proc_shows_no_host_process(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    attack = "grep -al MARK=outsider-1 /proc/[0-9]*/environ; ls -d /proc/[0-9]* | wc -l"
    with outsider("outsider-1"):
        found = await outside("sh", "-c", attack)
        ran = await shell(sandbox, f"({attack}) 2>/dev/null")
    assert found.count("/environ\n") == 1
    assert "environ" not in ran.output
    assert int(ran.output) < 12


@pytest.mark.parametrize("way", ["root", "cwd", "fd"])
async def test_links_in_proc_stay_inside(tmp_path: Path, secret: Path, way: str) -> None:
    attack = f"for p in /proc/[0-9]* /proc/self; do cat $p/{way}{secret} $p/{way}/*{secret}; ls -la $p/{way}/; done"
    if way == "root":
        assert await outside("cat", f"/proc/self/root{secret}") == SECRET
    ran = await shell(await made(tmp_path), attack)
    assert SECRET not in ran.output
    assert ".env" not in ran.output.replace(str(secret), "")


async def test_hard_links_cannot_leave_the_folder(tmp_path: Path, secret: Path) -> None:
    os.link(secret, home(tmp_path) / "control")
    assert (home(tmp_path) / "control").read_text() == SECRET
    (home(tmp_path) / "control").unlink()
    sandbox = await made(tmp_path)
    ran = await shell(sandbox, f"ln {secret} a; ln /usr/bin/env b; echo x > c; ln c /tmp/d; ln /etc/passwd e; ls")
    assert ran.output.splitlines()[-1] == "c"
    assert ran.output.count("cross-device") == 3
    assert [path.name for path in home(tmp_path).iterdir()] == ["c"]


async def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path, secret: Path) -> None:
    sandbox = await made(tmp_path)
    folder = home(tmp_path)
    folder.rmdir()
    folder.symlink_to(secret.parent)
    assert (folder / ".env").read_text() == SECRET
    with pytest.raises(ToolFailed, match="folder can't be opened"):
        await shell(sandbox, "ls -a")


def swap_before(sandbox: Sandbox, at: int, swap: Callable[[], None]) -> Callable[[], int]:
    """Calls `swap` before system call number `at` while the next command starts. Counts the calls until bubblewrap's
    command line is built, and the building as one more. Returns a function that returns the count so far. The sandbox
    makes the calls one by one, in its threads."""
    calls, ready = 0, False

    def profile(frame: FrameType, event: str, called: object) -> None:  # Python does not report what `swap` calls
        nonlocal calls, ready
        build = event == "call" and frame.f_code is Bubblewrap.command.__code__
        if not ready and (build or (event == "c_call" and getattr(called, "__module__", "") == "posix")):
            calls += 1
            if calls == at:
                swap()
        ready |= build

    sandbox._threads = ThreadPoolExecutor(3 * MAX_RUNNING, initializer=sys.setprofile, initargs=(profile,))
    return lambda: calls


async def test_a_folder_swapped_for_a_link_during_the_start_is_never_entered(tmp_path: Path, secret: Path) -> None:
    sandbox = await made(tmp_path)
    folder, aside, link = home(tmp_path), tmp_path / "aside", tmp_path / "link"
    (folder / "mine").touch()
    link.symlink_to(secret.parent)

    def swap() -> None:
        folder.rename(aside)
        link.rename(folder)

    printed, refused = [], []
    for at in count(1):
        calls = swap_before(sandbox, at, swap)
        try:
            printed.append((await shell(sandbox, "cat .env /files/.env 2>&1; ls -a")).output)
        except ToolFailed as refusal:
            refused.append(str(refusal))
        sandbox._threads.shutdown()
        if calls() < at:
            break
        folder.rename(link)
        aside.rename(folder)
    assert len(refused) > 3, "the system calls were not seen"
    assert all("folder can't be opened" in reason for reason in refused)
    assert all("mine" in output.split() and SECRET not in output for output in printed)


async def test_two_people_at_once_see_nothing_of_each_other(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    up, _ = pipes(tmp_path, "up", "go")
    line = "echo hers > /tmp/of-ann; echo hers > /dev/shm/of-ann; echo hers > of-ann; echo up > up; read x < go"
    ann = asyncio.create_task(shell(sandbox, line))
    await read_pipe(up)
    look = "find / -xdev -name of-ann; find /files /tmp /dev/shm -name of-ann; grep -al '[r]ead x' /proc/[0-9]*/cmdline"
    bens = await shell(sandbox, f"{look}; echo done", BEN)
    anns = await shell(sandbox, look)
    ann.cancel()
    assert bens.output == "done\n"
    assert anns.output == "/files/of-ann\n"  # finds what is there


async def test_host_programs_and_kernel_settings_are_read_only(tmp_path: Path) -> None:
    places = [
        "/usr/x",
        "/usr/bin/x",
        "/etc/x",
        "/x",
        "/dev/x",
        "/proc/x",
        "/proc/self/comm",
        "/proc/sys/kernel/core_pattern",
    ]
    ran = await python(
        await made(tmp_path),
        f"""
for place in {places!r} + ["/files/x", "/tmp/x", "/dev/shm/x"]:
    try:
        open(place, "a").close()
        print("wrote", place)
    except OSError as error:
        print(error.strerror)
""",
    )
    wrote = [line for line in ran.output.splitlines() if line.startswith("wrote")]
    assert wrote == ["wrote /files/x", "wrote /tmp/x", "wrote /dev/shm/x"]
    refusals = ("Read-only file system", "No such file", "Permission denied")
    assert sum(map(ran.output.count, refusals)) == len(places)
    if os.geteuid() == 0:
        assert os.access("/proc/sys/kernel/core_pattern", os.W_OK)


async def test_host_devices_keep_their_modes(tmp_path: Path) -> None:
    mode = os.stat("/dev/null").st_mode & 0o777
    ran = await shell(
        await made(tmp_path), f"touch mine; chmod {mode:o} mine && echo mine; chmod {mode:o} /dev/null && echo null"
    )
    assert "mine\n" in ran.output
    assert "null\n" not in ran.output
    if os.geteuid() == 0:
        os.chmod("/dev/null", mode)  # unchanged: outside, root may


async def test_outside_processes_are_unreachable(tmp_path: Path) -> None:
    attack = """
import ctypes, os, signal, sys
pid, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
    try:
        call()
        print(name)
    except OSError:
        pass
attempt("signalled", lambda: os.kill(pid, 0))
attempt("opened", lambda: open(f"/proc/{pid}/environ").close())
attempt("pidfd", lambda: os.pidfd_open(pid))
if libc.ptrace(16, pid, 0, 0) == 0:
    print("traced")
"""
    with outsider("outsider-2") as process:
        control = await outside(sys.executable, "-c", attack, str(process.pid))
        assert {"signalled", "opened", "pidfd"} <= set(control.split())
        assert (await python(await made(tmp_path), attack, str(process.pid))).output == ""
        assert process.poll() is None
