"""Attacks on the limits of time, memory, processes, disk and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from handlers.tools.sandbox import Sandbox, SandboxLimits, resource_monitor
from handlers.tools.sandbox.bubblewrap import SHARED_BYTES, TMP_BYTES
from handlers.tools.sandbox.process_tree import by_parents
from routing.config.sandbox import MIB
from tests.handlers.tools.sandbox.test_sandbox import home, made, python, running, shell, unique

SMALL = SandboxLimits(memory_bytes=96 * MIB, disk_bytes=8 * MIB, files=100, processes=20)

pytestmark = pytest.mark.system


def used(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


async def test_a_command_within_all_limits_finishes(tmp_path: Path) -> None:
    """The same kinds of work as below, a little smaller."""
    code = """
import mmap, os, threading, time
held = bytearray(40 * 2**20)
shared = mmap.mmap(-1, 20 * 2**20); shared.write(b"x" * len(shared))
with open("file", "wb") as file:
    file.write(b"x" * 6 * 2**20)
for n in range(80):
    open(f"{n}", "w").close()
threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(5)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
children = [os.fork() or os._exit(0) for _ in range(5)]
print("x" * 80_000)
"""
    ran = await python(await made(tmp_path, SMALL), code)
    assert (ran.ended, ran.exit_code, len(ran.output)) == ("exit", 0, 80_001)


async def test_time_is_limited(tmp_path: Path) -> None:
    mark = unique()
    sandbox = await made(tmp_path, SandboxLimits(seconds=4))
    ran = await shell(sandbox, f"echo before; trap '' TERM INT HUP; sleep {mark}")
    assert (ran.output, ran.ended, ran.exit_code) == ("before\n", "seconds", None)
    assert running(mark) == []


def forking(child: str) -> str:
    """A bomb that stops at 300 processes, in case the sandbox fails."""
    return f"""
import os, time
for n in range(300):
    try:
        if os.fork() == 0:
            {child}
    except OSError:
        break
time.sleep(60)
"""


THREADS = """
import threading, time
threading.stack_size(65536)
for n in range(200):
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError:
        break
time.sleep(60)
"""
TOGETHER = """
import ctypes, os, time
ctypes.CDLL(None).prctl(4, {hidden})
for n in range(4):
    if os.fork() == 0:
        held = bytearray(b"x") * (50 * 2**20)
        time.sleep(60)
time.sleep(60)
"""
SHARED = """
import mmap, time
block = b"x" * (8 * 2**20)
shared = mmap.mmap(-1, 400 * 2**20)
for n in range(50):
    shared.write(block)
    {hide}
time.sleep(60)
"""
SOCKETS = """
import os, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
for n in range(18):
    if os.fork():
        continue
    kept = []
    try:
        while True:
            pair = socket.socketpair()
            kept.append(pair)
            for end in pair:
                end.setblocking(False)
                try:
                    while True:
                        end.send(bytes(65536))
                except BlockingIOError:
                    pass
    except OSError:
        time.sleep(60)
time.sleep(60)
"""
OPEN_AND_DELETED = """
import os, time
kept = []
for n in range(80):
    file = open("hidden", "wb"); kept.append(file)
    os.unlink("hidden")
    for _ in range(6):
        file.write(bytes(2**20)); file.flush()
time.sleep(60)
"""
ATTACKS = {
    "a fork bomb": (forking('os.execvp("sleep", ["sleep", "98766"])'), "processes"),
    "orphans": (forking("os.setsid(); os.fork() == 0 and time.sleep(60); os._exit(0)"), "processes"),
    "threads": (THREADS, "processes"),
    "memory of many processes": (TOGETHER.format(hidden=1), "memory"),
    "memory that is hidden from debuggers": (TOGETHER.format(hidden=0), "memory"),
    "shared memory": (SHARED.format(hide="pass"), "memory"),
    "unmapped shared memory": (SHARED.format(hide="shared.madvise(mmap.MADV_DONTNEED)"), "memory"),
    "data in sockets": (SOCKETS, "memory"),
    "deleted files that are kept open": (OPEN_AND_DELETED, "disk"),
    "many files": ("for n in range(400): open(f'{n}', 'w').close()", "disk"),
}


LIMITS = {
    "processes": SandboxLimits(processes=20),
    "memory": SandboxLimits(memory_bytes=96 * MIB),
    "disk": SandboxLimits(disk_bytes=8 * MIB, files=100),
}
"""Only the limit under attack is small, because others may use the machine's memory and disk at the same time."""


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_attack_is_ended_by_its_limit(tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden memory and disk show only as the machine's loss. It is bounded more tightly here, so that the attacks end
    long before they disturb sandboxes of other tests."""
    monkeypatch.setattr(resource_monitor, "OTHERS_BYTES", 32 * MIB)
    code, limit = ATTACKS[attack]
    mark = unique()
    ran = await python(await made(tmp_path, LIMITS[limit]), code.replace("98766", mark))
    assert (ran.ended, ran.exit_code) == (limit, None)
    assert running(mark) == []


async def test_one_process_gets_a_memory_error(tmp_path: Path) -> None:
    ran = await python(await made(tmp_path, SMALL), "bytearray(90 * 2**20); bytearray(200 * 2**20)")
    assert (ran.ended, ran.exit_code) == ("exit", 1)
    assert ran.output.endswith("MemoryError\n")


async def test_memory_shared_after_a_fork_counts_once(tmp_path: Path) -> None:
    code = """
import os
held = bytearray(b"x") * (50 * 2**20)
pipes = [os.pipe() for _ in range(4)]
for n, (read, write) in enumerate(pipes):
    if os.fork() == 0:
        import time; time.sleep(0.3); os._exit(0)
for _ in pipes:
    os.wait()
"""
    ran = await python(await made(tmp_path, SMALL), code)
    assert (ran.ended, ran.exit_code) == ("exit", 0)


@pytest.mark.parametrize("blind", [False, True])
async def test_without_the_kernels_lists_of_children_the_limits_hold(tmp_path: Path, blind: bool) -> None:
    def only_root(root: int, most: int) -> Iterator[int]:
        yield root

    await made(tmp_path, SMALL)
    sandbox = Sandbox(home(tmp_path).parent, SMALL, process_trees=(only_root, *([] if blind else [by_parents])))
    if blind:
        assert "can't see its processes" in str(await sandbox.reason_off())
        return
    forks = "import os, time\nfor n in range({}):\n    if os.fork() == 0:\n        {}; time.sleep(60)\ntime.sleep(60)"
    assert (await python(sandbox, forks.format(22, "pass"))).ended == "processes"
    assert (await python(sandbox, forks.format(4, "x = b'x' * (50 * 2**20)"))).ended == "memory"


@pytest.mark.parametrize(("place", "size"), [("/tmp", TMP_BYTES), ("/dev/shm", SHARED_BYTES)])
async def test_files_in_memory_are_bounded(tmp_path: Path, place: str, size: int) -> None:
    ran = await shell(await made(tmp_path), f"head -c {2 * size} /dev/zero > {place}/big; stat -c %s {place}/big")
    assert "No space left" in ran.output
    assert 0 < int(ran.output.split()[-1]) <= size


@pytest.mark.parametrize("place", ["/", "/dev", "/etc", "/usr", "/proc", "/dev/pts"])
async def test_no_other_file_system_can_be_filled(tmp_path: Path, place: str) -> None:
    ran = await shell(await made(tmp_path), f"echo x > {place}/big && echo written; echo x > /tmp/big && echo control")
    assert "written" not in ran.output
    assert "control\n" in ran.output


async def test_a_file_over_the_quota_is_truncated(tmp_path: Path) -> None:
    await shell(await made(tmp_path, SMALL), "head -c 100000000 /dev/zero > big")
    assert 0 < used(home(tmp_path)) <= SMALL.disk_bytes + 4096


async def test_many_files_over_the_quota_end_the_command(tmp_path: Path) -> None:
    line = "for n in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > big$n; done; sleep 60"
    ran = await shell(await made(tmp_path, SMALL), line)
    assert ran.ended == "disk"
    assert SMALL.disk_bytes < used(home(tmp_path)) < 7 * SMALL.disk_bytes


async def test_repeated_quick_commands_cannot_exceed_the_quota(tmp_path: Path) -> None:
    """It ends before the folder is measured, but the next one may only write the rest."""
    sandbox = await made(tmp_path, SMALL)
    told = [await shell(sandbox, f"head -c 6000000 /dev/zero > big{n}; exit 0") for n in range(4)]
    assert [ran.ended for ran in told] == ["exit"] * 4
    assert [ran.output for ran in told] == ["", *["File size limit exceeded\n"] * 3]
    assert used(home(tmp_path)) <= SMALL.disk_bytes + 4096


async def test_filling_the_folder_is_reported(tmp_path: Path) -> None:
    ran = await shell(await made(tmp_path, SMALL), "head -c 100000000 /dev/zero > big")
    assert (ran.ended, ran.exit_code) == ("disk", None)


async def test_repeated_commands_gain_no_space(tmp_path: Path) -> None:
    sandbox, sizes = await made(tmp_path, SMALL), []
    for n in range(5):
        await shell(sandbox, f"for i in $(seq 1 40); do head -c 1048576 /dev/zero > f{n}_$i; done; exit 0")
        sizes.append(used(home(tmp_path)))
    assert sizes[0] > SMALL.disk_bytes
    assert sizes[-1] <= sizes[0]


async def test_a_full_folder_takes_no_bytes_and_no_files(tmp_path: Path) -> None:
    for n in range(101):
        (home(tmp_path) / f"old{n}").touch()
    sandbox = await made(tmp_path, SMALL)
    assert (await shell(sandbox, "mkdir new; for i in 1 2 3; do : > new/$i; done; sleep 60")).ended == "disk"
    assert (await shell(sandbox, "rm -r new old1 old2 old3; ls | wc -l")).output == "98\n"


async def test_deeply_nested_folders_end_the_command(tmp_path: Path) -> None:
    code = "import os\nfor n in range(3000):\n    os.mkdir('d'); os.chdir('d')\nimport time; time.sleep(60)"
    ran = await python(await made(tmp_path, SMALL), code)
    assert ran.ended == "disk"
    cleaned = await shell(await made(tmp_path), "rm -r d; ls | wc -l")
    assert (cleaned.output, cleaned.ended) == ("0\n", "exit")


async def test_nesting_does_not_disable_the_limit(tmp_path: Path) -> None:
    sandbox = await made(tmp_path, replace(SMALL, files=500))
    assert (await shell(sandbox, "mkdir -p $(printf 'd/%.0s' $(seq 110))")).ended == "exit"
    many = "for i in $(seq 1 100); do head -c 1000000 /dev/zero > f$i; done; sleep 60"
    assert (await shell(sandbox, many)).ended == "disk"
    assert (await shell(sandbox, "rm f*; for i in $(seq 1 3000); do : > g$i; done; sleep 60")).ended == "disk"
    assert (await shell(sandbox, "rm -r d g*; ls | wc -l")).output == "0\n"


async def test_a_full_folder_can_be_emptied_but_not_filled(tmp_path: Path) -> None:
    for n in range(4):
        (home(tmp_path) / f"old{n}").write_bytes(os.urandom(4_000_000))
    sandbox = await made(tmp_path, SMALL)
    assert (await shell(sandbox, "echo x > new; cat old0 old1 | head -c 900000 > more; sleep 60")).ended == "disk"
    assert (await shell(sandbox, "rm old0 old1 new more")).ended == "exit"
    assert (await shell(sandbox, "rm old2; tail -c 100 old3 > end")).ended == "exit"
    assert sorted(path.name for path in home(tmp_path).iterdir()) == ["end", "old3"]


async def test_endless_output_is_ended(tmp_path: Path) -> None:
    mark = unique()
    ran = await shell(await made(tmp_path), f"yes {mark}")
    assert (ran.ended, ran.exit_code) == ("output", None)
    assert len(ran.output) <= SandboxLimits().output_chars + 50
    assert "chars left out" in ran.output
    assert running(mark) == []


async def test_fifty_megabytes_of_output_are_bounded(tmp_path: Path) -> None:
    ran = await python(await made(tmp_path), "print('é' * 25_000_000)")
    assert ran.ended == "output"
    assert len(ran.output) <= SandboxLimits().output_chars + 50


async def test_head_and_tail_of_long_output_are_kept(tmp_path: Path) -> None:
    ran = await shell(await made(tmp_path, SandboxLimits(output_chars=1000)), "seq 1 100000")
    assert (ran.ended, ran.exit_code) == ("exit", 0)
    assert ran.output.startswith("1\n2\n3\n")
    assert ran.output.endswith("\n99999\n100000\n")
    assert len(ran.output) < 550
    assert ran.cut is not None
    assert ran.cut.total == sum(len(f"{n}\n") for n in range(1, 100_001))


async def test_four_at_once_keep_their_own_limits(tmp_path: Path) -> None:
    sandbox = await made(tmp_path, SandboxLimits(seconds=4, processes=20))
    bomb = "for n in $(seq 60); do sleep 60 & done; wait"
    told = await asyncio.gather(shell(sandbox, "echo a", 1), shell(sandbox, bomb, 2), shell(sandbox, "sleep 60", 3))
    assert [ran.ended for ran in told][::2] == ["exit", "seconds"]
    assert told[1].ended == "processes" or "fork" in told[1].output
