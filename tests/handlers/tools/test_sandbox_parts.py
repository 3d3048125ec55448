"""The parts that need no sandbox: what is kept of an output, how large a folder is, what the filter lets through."""

from __future__ import annotations

import errno
import math
import os
import struct
from contextlib import ExitStack
from pathlib import Path

import pytest

from handlers.tools.sandbox import SandboxLimits, seccomp
from handlers.tools.sandbox.bubblewrap import FORMS, Bubblewrap
from handlers.tools.sandbox.size import DEEPEST, Size, measure
from handlers.tools.sandbox.transcript import MOST_BYTES, Transcript, shown

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
ALLOWED = 0x7FFF0000


def judged(machine: str, number: int, first: int = 0, second: int = 0, audit: int | None = None) -> int:
    """What the filter returns: the kernel's rules for the few instructions that it uses."""
    program = seccomp.program(machine)
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    told = struct.pack(
        "=iIQ6Q", number, ARCHITECTURES[machine][0] if audit is None else audit, 0, first, second, 0, 0, 0, 0
    )
    at, held = 0, 0
    while True:
        code, then, otherwise, value = steps[at]
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("=I", told, value)
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += then if holds else otherwise


def refused(code: int) -> int:
    return 0x00050000 | code


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_on_each_machine(machine: str) -> None:
    column = ARCHITECTURES[machine][1]
    for numbers in seccomp.REFUSED.values():
        assert judged(machine, numbers[column]) == refused(errno.EPERM)
    for numbers in seccomp.ABSENT.values():
        assert judged(machine, numbers[column]) == refused(errno.ENOSYS)
    clone, ioctl, socket = ((56, 16, 41), (220, 29, 198))[column]
    assert judged(machine, clone, 0x01200011) == ALLOWED
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert judged(machine, clone, flag | 17) == refused(errno.EPERM)
    assert judged(machine, ioctl, 0, 0x5412) == judged(machine, ioctl, 0, 0x1_0000_541C) == refused(errno.EPERM)
    assert judged(machine, ioctl, 0, 0x5413) == ALLOWED
    assert [judged(machine, socket, family) for family in (1, 2, 10, 16)] == [ALLOWED] * 4
    assert {judged(machine, socket, family) for family in (3, 17, 31, 38, 40)} == {refused(errno.EAFNOSUPPORT)}
    assert [judged(machine, number) for number in range(0, 3)] == [ALLOWED] * 3
    assert judged(machine, 0, audit=0x40000003) == refused(errno.ENOSYS)


def test_calls_of_the_x32_kind_are_not_a_way_around() -> None:
    assert judged("x86_64", 0x40000000 + 165) == refused(errno.ENOSYS)


def test_other_processors_are_not_known() -> None:
    assert seccomp.known("x86_64") and seccomp.known("aarch64")
    assert not seccomp.known("riscv64")


@pytest.mark.parametrize("kept", [10, 11, 100])
def test_head_and_tail_are_kept_and_the_rest_is_counted(kept: int) -> None:
    transcript = Transcript(kept)
    text = "".join(f"{n:03}" for n in range(200))
    for at in range(0, len(text), 7):
        transcript.add(text[at : at + 7].encode())
    head, gap, tail = transcript.text().split("\n")
    assert len(head) + len(tail) == kept
    assert text.startswith(head) and text.endswith(tail)
    assert gap == f"[{len(text) - kept} bytes left out]"


def test_what_fits_is_whole() -> None:
    transcript = Transcript(6)
    for char in b"abcdef":
        transcript.add(bytes([char]))
    assert transcript.text() == "abcdef"


def test_a_transcript_says_when_it_is_too_much() -> None:
    transcript = Transcript(10)
    transcript.add(b"x" * MOST_BYTES)
    assert not transcript.overflowing
    transcript.add(b"x")
    assert transcript.overflowing and len(transcript.text()) < 60


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        (b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b(Bplain", "red plain"),
        (b"a\x00b\x08c\x7fd\x9b", "abcd\ufffd"),
        ("\x85é\u009b".encode(), "é"),
        (b"10%\r20%\r\ndone\ttab", "10%\n20%\ndone\ttab"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\x1b", ""),
    ],
)
def test_control_characters_are_not_shown(printed: bytes, seen: str) -> None:
    assert shown(printed) == seen


def weight(folder: Path) -> Size:
    handle = os.open(folder, os.O_RDONLY)
    try:
        assert measure(handle) == measure(handle)
        return measure(handle)
    finally:
        os.close(handle)


def test_a_folder_is_measured_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "big").write_bytes(b"x" * 1_000_000)
    inside = tmp_path / "inside"
    (inside / "below").mkdir(parents=True)
    (inside / "below" / "file").write_bytes(b"x" * 100_000)
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "below" / "loop").symlink_to(inside)
    with (inside / "hole").open("wb") as sparse:
        sparse.truncate(10**9)
    found = weight(inside)
    assert found.files == 5
    assert 100_000 <= found.bytes < 200_000


def test_a_folder_deeper_than_anybody_needs_is_too_large(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"d" * DEEPEST)
    deep.mkdir(parents=True)
    assert weight(tmp_path).files == DEEPEST
    (deep / "e").mkdir()
    assert weight(tmp_path) == Size(math.inf, math.inf)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_closed_to_its_owner_is_measured(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "closed").chmod(0)
    assert weight(tmp_path).files == 2


@pytest.mark.parametrize(
    ("before", "now", "over"),
    [
        (Size(0, 0), Size(100, 10), False),
        (Size(0, 0), Size(101, 1), True),
        (Size(0, 0), Size(1, 11), True),
        (Size(500, 50), Size(499, 50), False),
        (Size(500, 50), Size(501, 50), True),
        (Size(500, 50), Size(500, 51), True),
        (Size(math.inf, math.inf), Size(math.inf, math.inf), False),
    ],
)
def test_a_full_folder_may_shrink_but_not_grow(before: Size, now: Size, over: bool) -> None:
    assert now.grown_over(before, 100, 10) is over


def told(private: tuple[Path, ...] = (), limits: SandboxLimits | None = None) -> str:
    with ExitStack() as fds:
        command, passed = Bubblewrap("bwrap", FORMS[0], limits or SandboxLimits(), private).command(90, 5e6, 91, fds)
        assert (passed[0], passed[-1]) == (90, 91)
    return " ".join(command)


def test_what_is_private_is_covered_where_it_lies_among_programs(tmp_path: Path) -> None:
    line = told((Path("/usr/share"), tmp_path, Path("/usr"), Path("/usr/not/there")))
    assert line.count("--tmpfs") == told().count("--tmpfs") + 1
    assert "--tmpfs /usr/share --remount-ro /usr/share" in line


def test_a_full_folder_leaves_room_for_cleaning_up() -> None:
    assert "--fsize=5000000 " in told()
    assert "--fsize=1048576 " in told(limits=SandboxLimits(disk_bytes=2**20))


def test_the_network_is_only_there_when_it_is_allowed() -> None:
    assert "--share-net" not in told()
    assert "--share-net" in told(limits=SandboxLimits(network=True))
