"""The first program inside the sandbox: hides the mounts, drops its capabilities and executes the command.

`/proc/<pid>/mountinfo` lists the mounts reachable from the process's root directory and names the source of each,
including the path of the workspace. A process in a copy of the namespace whose root directory is in the original
namespace has an empty list but sees the same files. Only the standard library is available here."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Sequence

CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_SETPCAP")
"""Needed by this program and dropped before the command starts."""
_CLONE_NEWNS = 0x00020000
_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 22, 24, 47
_SECCOMP_MODE_FILTER, _PR_CAP_AMBIENT_CLEAR_ALL = 2, 4
_CAPABILITY_VERSION = 0x20080522


def enter(seccomp: int, command: Sequence[str]) -> None:
    """Applies the filter from the descriptor `seccomp` and executes the command. Returns only by raising OSError."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(function: str, *arguments: object) -> None:
        if getattr(libc, function)(*arguments) < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{function}: {os.strerror(code)}")

    root, folder = (os.open(path, os.O_PATH | os.O_DIRECTORY) for path in ("/", "."))
    call("unshare", _CLONE_NEWNS)
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(folder)
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    for capability in range(last + 1):
        call("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
    call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    call("capset", struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24))
    with os.fdopen(seccomp, "rb") as filter_file:
        steps = filter_file.read()
    address = ctypes.cast(ctypes.c_char_p(steps), ctypes.c_void_p).value
    call("prctl", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, struct.pack("@HP", len(steps) // 8, address), 0, 0)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(ignored, signal.SIG_DFL)
    os.closerange(3, 65536)  # uvloop leaves copies of the standard ones
    os.execvp(command[0], list(command))


if __name__ == "__main__":
    try:
        enter(int(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.exit(f"the sandbox can't be entered: {error}")
