"""The system call filter: blocks what namespaces alone do not.

A classic BPF program as expected by bubblewrap's `--seccomp`. The numbers come from the kernel's syscall_64.tbl and
asm-generic/unistd.h, the layout from linux/seccomp.h."""

from __future__ import annotations

import errno
import platform
import socket
import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data: the call number, the architecture, and the low halves of the first two arguments."""
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_NEW_NAMESPACE = 0x7E020000
"""All CLONE_NEW flags that `clone` accepts."""
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""The last is AF_NETLINK, used to list interfaces. Others, such as AF_VSOCK, ignore network namespaces."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""These ioctls type into another terminal."""

REFUSED: dict[str, tuple[int, int | None]] = {
    # numbers on x86_64 and aarch64; None if the architecture lacks the call
    # namespaces and mounts
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "open_tree_attr": (467, 467),
    # keyrings and the kernel log belong to the machine
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "syslog": (103, 116),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # a large kernel attack surface
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    # memory that is not charged to any process
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
}
ABSENT: dict[str, tuple[int, int | None]] = {
    # reported as missing, so that programs use the older call
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # its flags are in memory, which a filter can't read
    "clone3": (435, 435),
}
"""Numbers on x86-64 and 64-bit ARM."""


@dataclass(frozen=True, slots=True)
class _Machine:
    """`audit` is the AUDIT_ARCH value, `column` the index in the tables above."""

    audit: int
    column: int
    clone: int
    ioctl: int
    socket: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0, 56, 16, 41),
    "aarch64": _Machine(0xC00000B7, 1, 220, 29, 198),
}


def known(machine: str = platform.machine()) -> bool:
    """Whether a filter exists for this architecture (64-bit only)."""
    return machine in _MACHINES and struct.calcsize("P") == 8


def program(machine: str = platform.machine()) -> bytes:
    """The compiled filter. Raises KeyError for an architecture that is not `known`."""
    this = _MACHINES[machine]
    steps = [_step(_LOAD, _ARCHITECTURE), *_unless(this.audit, errno.ENOSYS), _step(_LOAD, _NUMBER)]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), _no(errno.ENOSYS)]
    for table, code in ((REFUSED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            if (number := numbers[this.column]) is not None:
                steps += [_step(_EQUAL, number, 0, 1), _no(code)]
    steps += _when(this.clone, _FIRST, [_step(_ANY_BIT, _NEW_NAMESPACE, 0, 1), _no(errno.EPERM)])
    typing = [step for request in (_TIOCSTI, _TIOCLINUX) for step in (_step(_EQUAL, request, 0, 1), _no(errno.EPERM))]
    steps += _when(this.ioctl, _SECOND, typing)
    families = [step for family in _FAMILIES for step in (_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW))]
    steps += _when(this.socket, _FIRST, [*families, _no(errno.EAFNOSUPPORT)])
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """Encodes a struct sock_filter. Jumps are relative, in instructions."""
    return struct.pack("=HBBI", code, then, otherwise, value)


def _no(code: int) -> bytes:
    return _step(_RETURN, _ERRNO | code)


def _unless(value: int, code: int) -> list[bytes]:
    return [_step(_EQUAL, value, 1, 0), _no(code)]


def _when(number: int, argument: int, steps: list[bytes]) -> list[bytes]:
    """Allows a call depending on one argument, as decided by `steps`."""
    body = [_step(_LOAD, argument), *steps, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]
