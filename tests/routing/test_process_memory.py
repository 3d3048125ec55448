"""Memory that was freed does not stay with the process."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

import pytest

from bot.health import resident_bytes
from routing.process_memory import give_back, uncollected

BLOCK, BLOCKS = 2_000, 20_000
"""Bytes that Python asks the allocator for one by one, and that it does not map by themselves: 40 MB."""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc keeps what was freed")
def test_what_was_freed_below_something_that_stays_is_given_back() -> None:
    blocks = [bytes(BLOCK) for _ in range(BLOCKS)]
    stays = blocks[::100]
    del blocks
    gc.collect()
    before = resident_bytes()
    give_back()
    assert resident_bytes() < before - BLOCK * BLOCKS / 2
    assert len(stays) == BLOCKS / 100


def test_where_the_allocator_has_no_such_call_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    give_back()


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_made_to_stay_is_not_collected_over_and_over(fails: bool) -> None:
    before, made = gc.get_freeze_count(), []
    with suppress(RuntimeError), uncollected():
        made += [[number] for number in range(10_000)]
        assert not gc.isenabled()
        if fails:
            raise RuntimeError
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)
