"""Attacks: out of the person's folder, into other people's, the bot, the machine, the network. Each is also tried where
it must succeed, so that a test can't pass because the attack is broken."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.sandbox import SandboxLimits
from routing.errors import ToolFailed
from tests.handlers.tools.test_sandbox import BEN, heard, home, made, pipes, python, shell

SECRET = "the-secret-of-the-owner"
RENAME_EXCHANGE = 2
OPEN = SandboxLimits(network=True)

pytestmark = pytest.mark.system


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """The workspace's .env, two folders above Ann's."""
    home(tmp_path)
    path = tmp_path / "workspace" / ".env"
    path.write_text(SECRET)
    return path


@contextmanager
def outsider(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the bot's user outside, with a secret in its environment."""
    code = f"x = '{mark}'; print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={"MARK": mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdout.readline() == b"\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def outside(*command: str, **options: Any) -> str:
    """What a command prints that runs with all rights of this process."""

    def run() -> str:
        return str(subprocess.run(command, capture_output=True, text=True, timeout=60, **options).stdout)

    return await asyncio.to_thread(run)


async def test_a_link_in_the_folder_leads_nowhere(tmp_path: Path, secret: Path) -> None:
    link = home(tmp_path) / "link"
    link.symlink_to(secret)
    (home(tmp_path) / "up").symlink_to("../..")
    assert link.read_text() == (home(tmp_path) / "up" / ".env").read_text() == SECRET
    ran = await shell(await made(tmp_path), "cat link; cat up/.env; ls -a up/; cat up/workspace/.env; echo done")
    assert SECRET not in ran.output and ran.output.endswith("done\n") and "No such file" in ran.output


async def test_dots_lead_to_the_sandboxs_own_root(tmp_path: Path, secret: Path) -> None:
    assert (home(tmp_path) / ".." / ".." / ".env").read_text() == SECRET
    sandbox = await made(tmp_path)
    ran = await shell(sandbox, "cat ../../.env; cat /files/../../../.env; find .. -maxdepth 3 -name .env; cd ..; pwd")
    assert SECRET not in ran.output and ran.output.endswith("\n/\n")


async def test_absolute_paths_of_the_machine_are_not_there(tmp_path: Path, secret: Path) -> None:
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
    assert "handlers" in await outside(sys.executable, "-c", code, cwd=Path(__file__).parents[3])
    assert (await python(await made(tmp_path), code)).output == "['json']\n"


async def test_the_environment_is_four_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", SECRET)
    ran = await shell(
        await made(tmp_path), "env; tr '\\0' '\\n' </proc/1/environ; cat /proc/*/environ; cat /proc/*/cmdline"
    )
    assert SECRET not in ran.output and str(tmp_path) not in ran.output
    env = (await shell(await made(tmp_path), "env")).output.splitlines()
    assert {line.partition("=")[0] for line in env} == {"PATH", "HOME", "LANG", "TERM", "PWD"}


async def test_proc_shows_no_process_of_the_machine(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    attack = "grep -al MARK=outsider-1 /proc/[0-9]*/environ; ls -d /proc/[0-9]* | wc -l"
    with outsider("outsider-1"):
        found = await outside("sh", "-c", attack)
        ran = await shell(sandbox, f"({attack}) 2>/dev/null")
    assert found.count("/environ\n") == 1
    assert "environ" not in ran.output and int(ran.output) < 12


@pytest.mark.parametrize("way", ["root", "cwd", "fd"])
async def test_links_in_proc_stay_inside(tmp_path: Path, secret: Path, way: str) -> None:
    attack = f"for p in /proc/[0-9]* /proc/self; do cat $p/{way}{secret} $p/{way}/*{secret}; ls -la $p/{way}/; done"
    if way == "root":
        assert await outside("cat", f"/proc/self/root{secret}") == SECRET
    ran = await shell(await made(tmp_path), attack)
    assert SECRET not in ran.output and ".env" not in ran.output.replace(str(secret), "")


async def test_no_hard_link_crosses_the_folders_edge(tmp_path: Path, secret: Path) -> None:
    os.link(secret, home(tmp_path) / "control")
    assert (home(tmp_path) / "control").read_text() == SECRET
    (home(tmp_path) / "control").unlink()
    sandbox = await made(tmp_path)
    ran = await shell(sandbox, f"ln {secret} a; ln /usr/bin/env b; echo x > c; ln c /tmp/d; ln /etc/passwd e; ls")
    assert ran.output.splitlines()[-1] == "c" and ran.output.count("cross-device") == 3
    assert [path.name for path in home(tmp_path).iterdir()] == ["c"]


async def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path, secret: Path) -> None:
    sandbox = await made(tmp_path)
    folder = home(tmp_path)
    folder.rmdir()
    folder.symlink_to(secret.parent)
    assert (folder / ".env").read_text() == SECRET
    with pytest.raises(ToolFailed, match="folder can't be opened"):
        await shell(sandbox, "ls -a")


async def test_a_folder_swapped_for_a_link_during_the_start_is_never_entered(tmp_path: Path, secret: Path) -> None:
    sandbox = await made(tmp_path)
    folder, link, done = home(tmp_path), tmp_path / "link", threading.Event()
    link.symlink_to(secret.parent)
    libc = ctypes.CDLL(None, use_errno=True)

    def swap() -> None:
        while not done.is_set():
            assert libc.renameat2(-100, os.fsencode(folder), -100, os.fsencode(link), RENAME_EXCHANGE) == 0

    swapping = asyncio.create_task(asyncio.to_thread(swap))
    refused, printed = 0, []
    for _ in range(40):
        try:
            printed.append((await shell(sandbox, "cat .env; cat /files/.env; ls -a")).output)
        except ToolFailed:
            refused += 1
    done.set()
    await swapping
    assert refused and refused + len(printed) == 40
    assert not any(SECRET in output or "files" in output.split() for output in printed)


async def test_two_people_at_once_see_nothing_of_each_other(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    up, _ = pipes(tmp_path, "up", "go")
    line = "echo hers > /tmp/of-ann; echo hers > /dev/shm/of-ann; echo hers > of-ann; echo up > up; read x < go"
    ann = asyncio.create_task(shell(sandbox, line))
    await heard(up)
    look = "find / -xdev -name of-ann; find /files /tmp /dev/shm -name of-ann; grep -al '[r]ead x' /proc/[0-9]*/cmdline"
    bens = await shell(sandbox, f"{look}; echo done", BEN)
    anns = await shell(sandbox, look)
    ann.cancel()
    assert bens.output == "done\n"
    assert anns.output == "/files/of-ann\n"  # the look finds what is there


async def test_the_machines_programs_and_kernel_can_not_be_changed(tmp_path: Path) -> None:
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


async def test_the_machines_devices_keep_their_modes(tmp_path: Path) -> None:
    mode = os.stat("/dev/null").st_mode & 0o777
    ran = await shell(
        await made(tmp_path), f"touch mine; chmod {mode:o} mine && echo mine; chmod {mode:o} /dev/null && echo null"
    )
    assert "mine\n" in ran.output and "null\n" not in ran.output
    if os.geteuid() == 0:
        os.chmod("/dev/null", mode)  # what it is already: outside, root may


async def test_processes_outside_can_not_be_reached(tmp_path: Path) -> None:
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


@asynccontextmanager
async def listening(address: str | tuple[str, int]) -> AsyncIterator[tuple[socket.socket, list[str]]]:
    """A server on this machine, and whoever reached it."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    ear, visits = socket.socket(family), list[str]()
    ear.bind(address)
    ear.listen()
    ear.setblocking(False)

    async def answer() -> None:
        while True:
            visitor, _ = await asyncio.get_running_loop().sock_accept(ear)
            visits.append("visit")
            visitor.close()

    task = asyncio.create_task(answer())
    try:
        yield ear, visits
    finally:
        task.cancel()
        await asyncio.wait({task})
        ear.close()


CALL = """
import socket, sys
family = socket.AF_INET if sys.argv[1].isdigit() else socket.AF_UNIX
address = ("127.0.0.1", int(sys.argv[1])) if sys.argv[1].isdigit() else "\\0" + sys.argv[1]
try:
    caller = socket.socket(family)
    caller.connect(address)
    print("connected", caller.recv(1))
except OSError as error:
    print(error.strerror)
"""


async def test_the_machines_own_servers_can_not_be_reached(tmp_path: Path) -> None:
    async with listening(("127.0.0.1", 0)) as (ear, visits):
        port = str(ear.getsockname()[1])
        assert (await python(await made(tmp_path), CALL, port)).output == "Connection refused\n"
        assert visits == []
        assert (await python(await made(tmp_path, OPEN), CALL, port)).output == "connected b''\n"
        assert visits == ["visit"]


async def test_abstract_sockets_can_not_be_reached(tmp_path: Path) -> None:
    name = f"tierbot-test-{os.getpid()}"
    async with listening("\0" + name) as (_, visits):
        assert (await python(await made(tmp_path), CALL, name)).output == "Connection refused\n"
        assert visits == []
        assert (await python(await made(tmp_path, OPEN), CALL, name)).output == "connected b''\n"


async def test_there_is_no_interface_but_a_loopback_of_its_own(tmp_path: Path) -> None:
    code = """
import socket
print([name for _, name in socket.if_nameindex()])
ear = socket.create_server(("127.0.0.1", 0)); print(bool(socket.create_connection(ear.getsockname())))
try:
    socket.create_connection(("1.1.1.1", 53), timeout=5)
except OSError as error:
    print(error.strerror)
for family in (40, 38, 17):
    try:
        socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        print(error.strerror)
"""
    ran = await python(await made(tmp_path), code)
    unsupported = "Address family not supported by protocol\n"
    assert ran.output == "['lo']\nTrue\nNetwork is unreachable\n" + 3 * unsupported


async def test_no_descriptor_of_the_bot_is_inherited(tmp_path: Path, secret: Path) -> None:
    handle = os.open(secret, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        assert await outside("cat", f"/proc/self/fd/{handle}", close_fds=False) == SECRET
        ran = await python(await made(tmp_path), "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])")
    finally:
        os.close(handle)
    assert ran.output == "['0', '1', '2']\n"


async def test_there_is_no_terminal_to_type_into(tmp_path: Path) -> None:
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
}


async def test_the_kernel_refuses_what_leads_out(tmp_path: Path) -> None:
    arm = os.uname().machine != "x86_64"
    numbers = {"unshare": 97, "mount": 40, "setns": 268, "keyctl": 219, "ptrace": 117, "bpf": 280, "shmget": 194}
    calls = numbers | {"syslog": 116} if arm else CALLS
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
    assert libc.syscall(calls["unshare"], 0) == 0  # asks for nothing, and is only refused by a filter


@pytest.mark.parametrize("flags", ["-U", "-Ur", "-m", "-n", "-p", "-i", "-u", "-C"])
async def test_no_namespace_can_be_made_inside(tmp_path: Path, flags: str) -> None:
    if os.geteuid() == 0:
        assert await outside("unshare", flags, "echo", "out") == "out\n"
    ran = await shell(await made(tmp_path), f"unshare {flags} echo out; mount -t tmpfs none /tmp && echo mounted")
    assert "out" not in ran.output.split() and "mounted" not in ran.output.split()
    assert "Operation not permitted" in ran.output or "No space left" in ran.output


async def test_there_is_no_way_to_more_rights(tmp_path: Path) -> None:
    ran = await shell(
        await made(tmp_path), "grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status; id -u; su -c id; mknod x c 1 3; ls"
    )
    told = dict(line.split(":") for line in ran.output.splitlines() if line.count(":") == 1 and "\t" in line)
    assert {int(told[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (told["NoNewPrivs"].strip(), told["Seccomp"].strip()) == ("1", "2")
    assert "\n1000\n" in ran.output and "uid=0" not in ran.output
    assert list(home(tmp_path).iterdir()) == []
