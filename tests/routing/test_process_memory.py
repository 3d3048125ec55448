"""Freed memory is returned to the system, and threads share one arena."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys

import pytest

from bot.observability.health import resident_bytes
from routing.process_memory import share_one_arena, trim_memory

BLOCK, BLOCKS = 2_000, 20_000
"""Bytes that Python asks the allocator for one by one, and that it does not map by themselves: 40 MB."""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc keeps what was freed")
def test_freed_memory_below_live_objects_is_returned() -> None:
    blocks = [bytes(BLOCK) for _ in range(BLOCKS)]
    stays = blocks[::100]
    del blocks
    gc.collect()
    before = resident_bytes()
    trim_memory()
    assert resident_bytes() < before - BLOCK * BLOCKS / 2
    assert len(stays) == BLOCKS / 100


ARENAS = """
import ctypes, sys, threading
from routing.process_memory import share_one_arena
if sys.argv[1] == "one":
    share_one_arena()
together = threading.Barrier(8)
def allocate():
    together.wait()
    kept = [bytes(2_000) for _ in range(100)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w")))
libc.fflush(None)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only glibc has arenas")
def test_all_threads_share_an_arena() -> None:
    arenas = [
        subprocess.run([sys.executable, "-c", ARENAS, each], check=True, capture_output=True, text=True).stdout
        for each in ("one", "many")
    ]
    assert arenas[0].count("<heap nr=") == 1 < arenas[1].count("<heap nr=")


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    trim_memory()
    share_one_arena()
