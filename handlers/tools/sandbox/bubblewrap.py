"""The command line of bubblewrap: everything that a command may see, and nothing else."""

from __future__ import annotations

import fcntl
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from handlers.tools.folder import MOUNT
from handlers.tools.sandbox import entry, seccomp
from handlers.tools.sandbox.limits import MIB, SandboxLimits

OPEN_FILES = 128
"""For each process; every socket among them is memory of the kernel's."""
TMP_BYTES, SHARED_BYTES = 96 * MIB, 32 * MIB
"""/tmp and /dev/shm are memory."""
ADDRESS_SPACES = 8
"""Times `memory_bytes`, for what a process reserves without using it, as Node and Go do."""
SPARE_PROCESSES = 8
"""The kernel's limit lies above ours, so that the watch sees a fork bomb and says so."""

_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    *("alternatives", "fonts", "ImageMagick-6", "ImageMagick-7", "ld.so.cache", "localtime", "mime.types", "timezone"),
    *("ssl/certs", "ssl/openssl.cnf"),
)
_TEXTS = {
    "passwd": "root:x:0:0::/:/usr/sbin/nologin\nuser:x:1000:1000::/files:/bin/sh\n",
    "group": "root:x:0:\nuser:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_OF_THE_MACHINE = tuple(name for name in ("cmdline", "keys", "key-users") if Path("/proc", name).exists())
"""Files of /proc that tell of the machine's boot and of its keys; they are shown empty."""
_BEFORE = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec nice -n 10 "$@"'
"""When the machine's memory or processor is short, strange code goes first and waits longest."""
_ROOT_BEFORE = "mount --bind /dev /dev && mount -o remount,bind,ro /dev && " + _BEFORE
"""A bot that runs as root owns the devices, and so would its commands: they could take /dev/null from everybody.
bubblewrap's own `--remount-ro` makes devices unusable."""


@dataclass(frozen=True, slots=True)
class Form:
    """What this machine lets bubblewrap do. Without `proc` commands see no /proc at all, never the machine's. `locked`
    is a second lock on user namespaces; the filter of system calls is the first. With `hidden` commands can't read
    where on the machine their mounts come from; without /proc they can't either."""

    proc: bool
    locked: bool
    hidden: bool


FORMS = (
    Form(proc=True, locked=True, hidden=True),
    Form(proc=True, locked=False, hidden=True),
    Form(proc=True, locked=True, hidden=False),
    Form(proc=True, locked=False, hidden=False),
    Form(proc=False, locked=False, hidden=False),
)
"""Best first. The last is what a hardened service or container allows. `hidden` takes rights that Ubuntu's AppArmor
profile for bubblewrap withholds."""


def interpreter() -> Path:
    """The Python that ours was made from, without our packages."""
    return Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """How bubblewrap is called here. By `mark` in its command line the guard finds it. `private` is never to be
    seen, wherever it lies and whatever links lead there."""

    program: str
    mark: str
    form: Form
    limits: SandboxLimits
    private: tuple[Path, ...] = ()

    def command(self, folder: int, free_bytes: int, status: int, fds: ExitStack) -> tuple[list[str], list[int]]:
        """Everything before the command itself, and the descriptors to be passed on, `status` last; those made here
        are closed by `fds`. `free_bytes` are what the folder may grow by."""
        passed = [folder]

        def data(content: bytes) -> str:
            passed.append(sealed(content))
            fds.callback(os.close, passed[-1])
            return str(passed[-1])

        options = [*_namespaces(self.form, self.limits), *_system(self.private), *_scratch(self.form)]
        if self.form.proc:
            for name in _OF_THE_MACHINE:
                options += ["--ro-bind-data", data(b""), f"/proc/{name}"]
        for name, text in _TEXTS.items():
            options += ["--perms", "0644", "--ro-bind-data", data(text.encode()), f"/etc/{name}"]
        if self.limits.network:
            options += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
        options += ["--bind-fd", str(folder), MOUNT, "--chdir", MOUNT, "--remount-ro", "/"]
        filter_fd = data(seccomp.program())
        entering: list[str] = []
        if self.form.hidden:
            entering = [str(interpreter()), "-ISc", Path(entry.__file__).read_text("utf-8"), filter_fd]
        else:
            options += ["--seccomp", filter_fd]
        options += ["--json-status-fd", str(status), "--unsetenv", self.mark, "--"]
        before = ["/bin/sh", "-c", _BEFORE] if os.geteuid() else ["unshare", "-m", "/bin/sh", "-ec", _ROOT_BEFORE]
        return [*before, "sh", self.program, *options, *entering, *_rlimits(self.limits, free_bytes)], [*passed, status]


def sealed(content: bytes) -> int:
    """A file in memory that nobody can change, at its beginning."""
    handle = os.memfd_create("tierbot", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(handle), "wb") as file:
        file.write(content)
    os.lseek(handle, 0, os.SEEK_SET)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return handle


def _namespaces(form: Form, limits: SandboxLimits) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
    yield from ("--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv")
    for name, value in {"PATH": _path(), "HOME": MOUNT, "LANG": "C.UTF-8", "TERM": "dumb"}.items():
        yield from ("--setenv", name, value)
    if form.locked:
        yield "--disable-userns"
    for capability in entry.CAPABILITIES if form.hidden else ():
        yield from ("--cap-add", capability)
    if limits.network:
        yield "--share-net"


def _system(private: Sequence[Path]) -> Iterator[str]:
    """The machine's programs, read-only."""
    shown = [Path("/usr")]
    yield from ("--ro-bind", "/usr", "/usr")
    for path in (Path("/", name) for name in _TOP):
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/etc/ssl")
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    base = Path(sys.base_prefix)
    if not base.is_relative_to("/usr"):
        shown.append(base)
        for parent in [*reversed(base.parents)][1:]:
            yield from ("--perms", "0755", "--dir", str(parent))
        yield from ("--ro-bind", str(base), str(base))
    for path in _outermost(_covered(private, shown)):
        yield from ("--tmpfs", str(path), "--remount-ro", str(path))


def _covered(private: Sequence[Path], shown: Sequence[Path]) -> list[Path]:
    """Where the folders that are `private` would be seen below those that are `shown`, links followed."""
    real = [path.resolve() for path in private if path.is_dir()]
    pairs = [(place, path.relative_to(place.resolve())) for place in shown for path in real if _below(path, place)]
    return [place / rest for place, rest in pairs if place / rest not in interpreter().parents]


def _below(path: Path, place: Path) -> bool:
    return place.resolve() in path.parents


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Each once, and none below another: what is covered by an empty folder holds no place to cover."""
    return [path for path in dict.fromkeys(paths) if not any(other in path.parents for other in paths)]


def _scratch(form: Form) -> Iterator[str]:
    """What is made anew for each command."""
    if form.proc:
        yield from ("--proc", "/proc", "--remount-ro", "/proc")
    if form.hidden:  # bubblewrap's own process, which keeps the mounts
        yield from ("--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
    yield from ("--dev", "/dev")
    yield from ("--perms", "1777", "--size", str(SHARED_BYTES), "--tmpfs", "/dev/shm")
    yield from ("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp")
    yield from ("--remount-ro", "/dev")


def _rlimits(limits: SandboxLimits, free_bytes: int) -> Iterator[str]:
    """For each process; the watch counts them together."""
    room = min(max(free_bytes, 0), limits.disk_bytes)
    yield from ("prlimit", "--core=0", f"--nofile={OPEN_FILES}", f"--nproc={limits.processes + SPARE_PROCESSES}")
    yield from (f"--data={limits.memory_bytes}", f"--as={ADDRESS_SPACES * limits.memory_bytes}", f"--fsize={room}")
    yield from (f"--cpu={math.ceil(limits.seconds * (os.cpu_count() or 1)) + 1}", "--")


def _path() -> str:
    usual = "/usr/local/bin:/usr/bin:/bin"
    own = str(interpreter().parent)
    return usual if own in usual.split(":") else f"{own}:{usual}"
