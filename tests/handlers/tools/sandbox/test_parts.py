"""Parts that need no sandbox: output truncation, folder sizes, and the system call filter."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from handlers.tools.sandbox import Cut, SandboxLimits, seccomp
from handlers.tools.sandbox.bubblewrap import ISOLATIONS, Bubblewrap
from handlers.tools.sandbox.folder_size import Moved, Size, measure
from handlers.tools.sandbox.process_tree import by_children
from handlers.tools.sandbox.resource_monitor import ResourceMonitor, machine
from handlers.tools.sandbox.transcript import MAX_BYTES, TAIL_SHARE, Transcript, shown
from routing.config.sandbox import MIB

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
ALLOWED = 0x7FFF0000


def judged(machine: str, number: int, first: int = 0, second: int = 0, audit: int | None = None) -> int:
    """The filter's verdict, with the kernel's rules for the instructions it uses."""
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
def test_the_system_call_filter_by_architecture(machine: str) -> None:
    column = ARCHITECTURES[machine][1]
    for table, code in ((seccomp.REFUSED, errno.EPERM), (seccomp.ABSENT, errno.ENOSYS)):
        known = [number for numbers in table.values() if (number := numbers[column]) is not None]
        assert {judged(machine, number) for number in known} == {refused(code)}
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


def test_x32_system_calls_are_blocked() -> None:
    assert judged("x86_64", 0x40000000 + 165) == refused(errno.ENOSYS)


def test_other_architectures_are_unsupported() -> None:
    assert seccomp.known("x86_64")
    assert seccomp.known("aarch64")
    assert not seccomp.known("riscv64")


@pytest.mark.parametrize("kept", [10, 11, 100])
def test_head_and_tail_are_kept_and_omissions_counted(kept: int) -> None:
    transcript = Transcript(kept)
    text = "".join(f"é{n:03}" for n in range(200))
    data = text.encode()
    for at in range(0, len(data), 7):
        transcript.add(data[at : at + 7])
    told, cut = transcript.result()
    head, gap, tail = told.split("\n")
    assert len(head) + len(tail) == kept
    assert len(tail) == kept // TAIL_SHARE
    assert text.startswith(head)
    assert text.endswith(tail)
    assert gap == f"[{len(text) - kept} chars left out]"
    assert cut == Cut(len(text), len(head), len(tail))


def test_short_output_is_complete() -> None:
    transcript = Transcript(6)
    for char in "abcdéf".encode():
        transcript.add(bytes([char]))
    assert transcript.result() == ("abcdéf", None)


def test_an_incomplete_character_is_replaced() -> None:
    transcript = Transcript(6)
    transcript.add("é".encode()[:1])
    assert transcript.result() == ("\ufffd", None)


def test_a_transcript_reports_its_limit() -> None:
    transcript = Transcript(10)
    transcript.add(b"x" * MAX_BYTES)
    assert not transcript.overflowing
    transcript.add(b"x")
    assert transcript.overflowing
    assert len(transcript.result()[0]) < 60


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
    assert shown(printed.decode("utf-8", "replace")) == seen


def weight(folder: Path) -> Size:
    handle = os.open(folder, os.O_RDONLY)
    try:
        assert measure(handle) == measure(handle)
        return measure(handle)
    finally:
        os.close(handle)


def weight_once(folder: Path) -> Size:
    handle = os.open(folder, os.O_RDONLY)
    try:
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


def test_a_folder_is_measured_however_deep_it_is(tmp_path: Path) -> None:
    """With few open files, and deeper than any path can name."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT, dir_fd=here))
    os.close(here)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "file").touch()
    assert weight(tmp_path).files == 3003
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # pytest itself can't
    assert weight(tmp_path).files == 2


def test_measuring_does_not_follow_a_moved_folder(tmp_path: Path) -> None:
    """`..` of a folder that was moved up is a different folder outside."""
    inside, stop = tmp_path / "inside", threading.Event()
    (inside / "a" / "b" / "c").mkdir(parents=True)
    for n in range(20):
        (inside / "a" / f"{n}").mkdir()
        (tmp_path / f"{n}" / "outside").mkdir(parents=True)

    def move() -> None:
        while not stop.is_set():
            (inside / "a" / "b" / "c").rename(inside / "c")
            (inside / "c").rename(inside / "a" / "b" / "c")

    thread = threading.Thread(target=move)
    thread.start()
    try:
        for _ in range(100):
            with suppress(Moved):
                assert weight_once(inside).files <= 24
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
@pytest.mark.parametrize("mode", [0, 0o444])
def test_a_folder_without_permissions_is_measured(tmp_path: Path, mode: int) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "closed").chmod(mode)
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
    ],
)
def test_a_full_folder_may_shrink_but_not_grow(before: Size, now: Size, over: bool) -> None:
    assert now.grown_over(before, 100, 10) is over


def command_line(private: tuple[Path, ...] = (), limits: SandboxLimits | None = None, free: int = 5_000_000) -> str:
    with ExitStack() as fds:
        bubblewrap = Bubblewrap("bwrap", "mark", ISOLATIONS[0], limits or SandboxLimits(), private)
        command, passed = bubblewrap.command(90, free, 91, fds)
        assert (passed[0], passed[-1]) == (90, 91)
    return " ".join(command)


def test_private_paths_among_system_folders_are_hidden(tmp_path: Path) -> None:
    line = command_line((Path("/usr/share"), tmp_path, Path("/usr"), Path("/usr/not/there")))
    assert line.count("--tmpfs") == command_line().count("--tmpfs") + 1
    assert "--tmpfs /usr/share --remount-ro /usr/share" in line


def test_private_paths_are_hidden_once_also_behind_links(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/usr/share")
    for private in ((link, link / "doc"), (Path("/usr/share/doc"), link), (Path("/usr/share"), link)):
        line = command_line(private)
        assert line.count("--tmpfs") == command_line().count("--tmpfs") + 1
        assert "--tmpfs /usr/share --remount-ro /usr/share" in line


@pytest.mark.parametrize(("free", "room"), [(5_000_000, 5_000_000), (7, 7), (0, 0), (-4096, 0), (10**12, 500 * 2**20)])
def test_file_size_is_limited_to_the_remaining_quota(free: int, room: int) -> None:
    assert f"--fsize={room} " in command_line(free=free)


def test_the_network_needs_permission() -> None:
    assert "--share-net" not in command_line()
    assert "--share-net" in command_line(limits=SandboxLimits(network=True))


def test_disk_usage_is_measured_again_after_half_the_remaining_quota(tmp_path: Path) -> None:
    """In a folder of 64 MiB. Free disk space is compared with a tolerance for other programs."""
    limits, folder = SandboxLimits(disk_bytes=64 * MIB), os.open(tmp_path, os.O_RDONLY)
    try:
        watch = ResourceMonitor(os.getpid(), folder, limits, machine(folder), Size(), by_children, {})
        assert watch.disk() is None
        assert not watch.filling()
        (tmp_path / "some").write_bytes(bytes(10 * MIB))
        assert not watch.filling()
        (tmp_path / "more").write_bytes(bytes(40 * MIB))
        assert watch.filling()
        assert watch.disk() is None
        assert not watch.filling()
        (tmp_path / "last").write_bytes(bytes(15 * MIB))
        assert watch.filling()
        assert watch.disk() == "disk"
    finally:
        os.close(folder)
