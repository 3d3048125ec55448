"""Freed memory is returned to the system."""

from __future__ import annotations

import ctypes
import gc

import pytest

from bot.health import resident_bytes
from routing.process_memory import trim_memory

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


def test_without_malloc_trim_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    trim_memory()
