"""Builds bubblewrap's command line, which exposes only what a command may see."""

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
from routing.config.sandbox import MIB, SandboxLimits

SERVER = "/run/server"
"""Where a program finds the socket that it was given."""
OPEN_FILES = 128
"""Per process. Each socket takes kernel memory."""
TMP_BYTES, SHARED_BYTES = 96 * MIB, 32 * MIB
"""/tmp and /dev/shm are kept in memory."""
ADDRESS_SPACES = 8
"""Multiplied by `memory_bytes`: Node and Go reserve far more address space than they use."""
SPARE_PROCESSES = 8
"""The kernel's limit is above the monitor's, so that the monitor can report a fork bomb."""

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
_HOST_PATHS = tuple(name for name in ("cmdline", "keys", "key-users") if Path("/proc", name).exists())
"""/proc files about the machine's boot and keys. They are shown empty."""
_BEFORE = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec nice -n 10 "$@"'
"""If memory or CPU runs short, sandboxed code is killed first and scheduled last."""
_ROOT_BEFORE = "mount --bind /dev /dev && mount -o remount,bind,ro /dev && " + _BEFORE
"""If the bot runs as root, its commands own the devices and could delete /dev/null for everyone. bubblewrap's own
`--remount-ro` makes devices unusable."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The bubblewrap features this machine allows. Without `proc`, commands see no /proc at all, never the machine's.
    `locked` also disables user namespaces, in addition to the system call filter. With `hidden`, commands can't read
    where their mounts come from; without /proc they can't either."""

    proc: bool
    locked: bool
    hidden: bool


ISOLATIONS = (
    Isolation(proc=True, locked=True, hidden=True),
    Isolation(proc=True, locked=False, hidden=True),
    Isolation(proc=True, locked=True, hidden=False),
    Isolation(proc=True, locked=False, hidden=False),
    Isolation(proc=False, locked=False, hidden=False),
)
"""Best first. The last works in hardened services and containers. `hidden` needs capabilities that Ubuntu's AppArmor
profile for bubblewrap denies."""


def interpreter() -> Path:
    """The base Python of the virtual environment, without its packages."""
    return Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Builds bubblewrap calls. The guard finds the process by `mark` in its command line. The `private` paths are
    always hidden, even behind links. `server` is a Unix socket that appears at `SERVER`."""

    program: str
    mark: str
    isolation: Isolation
    limits: SandboxLimits
    private: tuple[Path, ...] = ()
    server: Path | None = None

    def command(self, folder: int, free_bytes: int, status: int, fds: ExitStack) -> tuple[list[str], list[int]]:
        """The arguments before the command itself, and the descriptors to pass on, `status` last. `fds` closes the
        descriptors created here. The folder may grow by `free_bytes`."""
        passed = [folder]

        def data(content: bytes) -> str:
            passed.append(sealed(content))
            fds.callback(os.close, passed[-1])
            return str(passed[-1])

        options = [*_namespaces(self.isolation, self.limits), *_system(self.private), *_scratch(self.isolation)]
        if self.isolation.proc:
            for name in _HOST_PATHS:
                options += ["--ro-bind-data", data(b""), f"/proc/{name}"]
        for name, text in _TEXTS.items():
            options += ["--perms", "0644", "--ro-bind-data", data(text.encode()), f"/etc/{name}"]
        if self.limits.network:
            options += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
        if self.server is not None:
            options += ["--perms", "0755", "--dir", "/run", "--bind", str(self.server), SERVER]
        options += ["--bind-fd", str(folder), MOUNT, "--chdir", MOUNT, "--remount-ro", "/"]
        filter_fd = data(seccomp.program())
        entering: list[str] = []
        if self.isolation.hidden:
            entering = [str(interpreter()), "-ISc", Path(entry.__file__).read_text("utf-8"), filter_fd]
        else:
            options += ["--seccomp", filter_fd]
        options += ["--json-status-fd", str(status), "--unsetenv", self.mark, "--"]
        before = ["/bin/sh", "-c", _BEFORE] if os.geteuid() else ["unshare", "-m", "/bin/sh", "-ec", _ROOT_BEFORE]
        return [*before, "sh", self.program, *options, *entering, *_rlimits(self.limits, free_bytes)], [*passed, status]


def sealed(content: bytes) -> int:
    """A sealed in-memory file, positioned at its start."""
    handle = os.memfd_create("tierbot", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(handle), "wb") as file:
        file.write(content)
    os.lseek(handle, 0, os.SEEK_SET)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return handle


def _namespaces(isolation: Isolation, limits: SandboxLimits) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
    yield from ("--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv")
    for name, value in {"PATH": _path(), "HOME": MOUNT, "LANG": "C.UTF-8", "TERM": "dumb"}.items():
        yield from ("--setenv", name, value)
    if isolation.locked:
        yield "--disable-userns"
    for capability in entry.CAPABILITIES if isolation.hidden else ():
        yield from ("--cap-add", capability)
    if limits.network:
        yield "--share-net"


def _system(private: Sequence[Path]) -> Iterator[str]:
    """Mounts the system's programs read-only."""
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
    """Where `private` folders would be visible below `shown` ones, with links resolved."""
    real = [path.resolve() for path in private if path.is_dir()]
    pairs = [(place, path.relative_to(place.resolve())) for place in shown for path in real if _below(path, place)]
    return [place / rest for place, rest in pairs if place / rest not in interpreter().parents]


def _below(path: Path, place: Path) -> bool:
    return place.resolve() in path.parents


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Unique paths without nested ones. A path that is covered by an empty folder can't contain another mount point."""
    return [path for path in dict.fromkeys(paths) if not any(other in path.parents for other in paths)]


def _scratch(isolation: Isolation) -> Iterator[str]:
    """Mounts that are created for each command."""
    if isolation.proc:
        yield from ("--proc", "/proc", "--remount-ro", "/proc")
    if isolation.hidden:  # hides bubblewrap's own process, which keeps the mounts
        yield from ("--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
    yield from ("--dev", "/dev")
    yield from ("--perms", "1777", "--size", str(SHARED_BYTES), "--tmpfs", "/dev/shm")
    yield from ("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp")
    yield from ("--remount-ro", "/dev")


def _rlimits(limits: SandboxLimits, free_bytes: int) -> Iterator[str]:
    """Limits per process. The monitor counts the whole sandbox."""
    room = min(max(free_bytes, 0), limits.disk_bytes)
    yield from ("prlimit", "--core=0", f"--nofile={OPEN_FILES}", f"--nproc={limits.processes + SPARE_PROCESSES}")
    yield from (f"--data={limits.memory_bytes}", f"--as={ADDRESS_SPACES * limits.memory_bytes}", f"--fsize={room}")
    yield from (f"--cpu={math.ceil(limits.seconds * (os.cpu_count() or 1)) + 1}", "--")


def _path() -> str:
    """The person's own programs come last, so that they replace no others."""
    usual = f"/usr/local/bin:/usr/bin:/bin:{MOUNT}/.local/bin"
    own = str(interpreter().parent)
    return usual if own in usual.split(":") else f"{own}:{usual}"
