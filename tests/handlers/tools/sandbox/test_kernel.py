"""Attacks on the kernel: descriptors, terminals, system calls, namespaces, privileges."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.handlers.tools.sandbox.outside import outside
from tests.handlers.tools.sandbox.test_sandbox import home, made, python, shell

pytestmark = pytest.mark.system


async def test_there_is_no_terminal(tmp_path: Path) -> None:
    code = """
import fcntl, os, pty, termios
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print(error.strerror)
_, mine = pty.openpty()
for request in (termios.TIOCGWINSZ, termios.TIOCSTI):
    try:
        fcntl.ioctl(mine, request, b"xxxxxxxx")
        print("done")
    except OSError as error:
        print(error.strerror)
"""
    ran = await python(await made(tmp_path), code)
    assert ran.output == "No such device or address\ndone\nOperation not permitted\n"


CALLS = {
    "unshare": 272,
    "mount": 165,
    "setns": 308,
    "keyctl": 250,
    "ptrace": 101,
    "bpf": 321,
    "shmget": 29,
    "syslog": 103,
    "personality": 135,
    "modify_ldt": 154,
}


async def test_proc_reveals_nothing_about_the_host(tmp_path: Path) -> None:
    ran = await shell(await made(tmp_path), "cat /proc/cmdline /proc/keys /proc/key-users; echo done")
    assert ran.output == "done\n"


async def test_forbidden_system_calls_fail(tmp_path: Path) -> None:
    arm = os.uname().machine != "x86_64"
    numbers = {"unshare": 97, "mount": 40, "setns": 268, "keyctl": 219, "ptrace": 117, "bpf": 280, "shmget": 194}
    calls = numbers | {"syslog": 116, "personality": 92} if arm else CALLS
    code = f"""
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
for name, number in {calls!r}.items():
    libc.syscall(number, 0, 0, 0, 0, 0)
    print(name, errno.errorcode[ctypes.get_errno()] if ctypes.get_errno() else "done")
    ctypes.set_errno(0)
try:
    os.memfd_create("x")
except OSError as error:
    print(error.strerror)
"""
    ran = await python(await made(tmp_path), code)
    assert ran.output == "".join(f"{name} EPERM\n" for name in calls) + "Function not implemented\n"
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(calls["unshare"], 0) == 0  # only a filter refuses it


@pytest.mark.parametrize("flags", ["-U", "-Ur", "-m", "-n", "-p", "-i", "-u", "-C"])
async def test_no_namespace_can_be_made_inside(tmp_path: Path, flags: str) -> None:
    if os.geteuid() == 0:
        assert await outside("unshare", flags, "echo", "out") == "out\n"
    ran = await shell(await made(tmp_path), f"unshare {flags} echo out; mount -t tmpfs none /tmp && echo mounted")
    assert "out" not in ran.output.split()
    assert "mounted" not in ran.output.split()
    assert "Operation not permitted" in ran.output or "No space left" in ran.output


async def test_privileges_cannot_be_gained(tmp_path: Path) -> None:
    ran = await shell(
        await made(tmp_path), "grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status; id -u; su -c id; mknod x c 1 3; ls"
    )
    told = dict(line.split(":") for line in ran.output.splitlines() if line.count(":") == 1 and "\t" in line)
    assert {int(told[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (told["NoNewPrivs"].strip(), told["Seccomp"].strip()) == ("1", "2")
    assert "\n1000\n" in ran.output
    assert "uid=0" not in ran.output
    assert list(home(tmp_path).iterdir()) == []


async def test_mounts_do_not_reveal_the_workspace_path(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    look = "for p in self thread-self 1 2 $$; do cat /proc/$p/mountinfo /proc/$p/mounts /proc/$p/mountstats; done; "
    look += "cat /proc/*/task/*/mountinfo /proc/mounts; ls /proc/1; df; pwd"
    ran = await shell(sandbox, f"({look}) 2>/dev/null")
    assert ran.output == "/files\n"
    assert sandbox.isolation is not None
    sandbox.isolation = replace(sandbox.isolation, hidden=False)  # as under an AppArmor profile: finds what is there
    assert str(home(tmp_path)) in (await shell(sandbox, f"({look}) 2>/dev/null")).output.replace("//deleted", "")
