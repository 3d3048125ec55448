"""The right of a process to handle chats."""

from __future__ import annotations

import asyncio

from routing.types.lease import VALID_SECONDS, Lease
from routing.types.messages import ChatKey
from tests.fakes import ManualClock

HOME, OTHER = ChatKey("telegram", "1"), ChatKey("telegram", "9", "7")


async def test_a_lease_is_valid_for_a_while_after_each_heartbeat() -> None:
    clock = ManualClock()
    lease = Lease(clock)
    assert not lease.valid
    lease.begin(7, lease.now())
    clock.now += VALID_SECONDS - 0.1
    assert lease.valid
    clock.now += 0.2
    assert not lease.valid
    waiting = asyncio.create_task(lease.wait_until_valid())
    await asyncio.sleep(0)
    assert not waiting.done()
    lease.renew(clock.now)
    await waiting


def test_a_chat_in_use_is_kept() -> None:
    clock = ManualClock()
    lease = Lease(clock)
    assert not lease.holds(HOME)
    lease.add({HOME.claim, OTHER.claim})
    clock.now += 50
    assert lease.holds(OTHER)
    clock.now += 50
    assert lease.unused(60.0) == (HOME.claim,)
    assert lease.chats == (OTHER.claim,)
    lease.begin(8, clock.now)
    assert not lease.holds(OTHER)


def test_chats_are_announced_once() -> None:
    lease = Lease()
    lease.announce([HOME])
    lease.announce([OTHER, HOME])
    assert lease.announced.is_set()
    assert lease.take_announced() == {HOME.claim, OTHER.claim}
    assert not lease.announced.is_set()
    assert lease.take_announced() == frozenset()
