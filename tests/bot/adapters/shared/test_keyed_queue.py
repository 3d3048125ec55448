"""Items of one key run in order, keys in parallel."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.shared.keyed_queue import KeyedQueue
from routing.types.lease import LeaseLost
from tests.attacks.growth import superlinear


class Worker:
    """Handles words; `gate` blocks all of them."""

    def __init__(self) -> None:
        self.gate, self.idle = asyncio.Event(), asyncio.Event()
        self.done: list[str] = []
        self.queue: KeyedQueue[int, str] = KeyedQueue("test", self._handle, self._on_idle)

    async def _handle(self, key: int) -> None:
        await self.gate.wait()
        word = self.queue.take(key)
        self.done.append(word)
        if word == "broken":
            raise LookupError(word)

    async def _on_idle(self) -> None:
        self.idle.set()


async def test_items_keep_their_order_despite_errors(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker()
    for word in ("broken", "second"):
        worker.queue.put(1, word)
    worker.queue.put(2, "other")
    worker.queue.put(1, "first", ahead=True)
    await asyncio.sleep(0)
    assert worker.done == []
    assert 1 in worker.queue
    assert 3 not in worker.queue
    assert (len(worker.queue), worker.queue.waiting, list(worker.queue.items(1))) == (
        2,
        4,
        ["first", "broken", "second"],
    )
    worker.gate.set()
    await worker.idle.wait()
    assert len(worker.queue) == 0
    assert [word for word in worker.done if word != "other"] == ["first", "broken", "second"]
    assert "test: an item for 1 failed" in caplog.text


async def test_a_handler_sees_the_next_items() -> None:
    seen: list[str | None] = []

    async def handle(key: int) -> None:
        queue.take(key)
        seen.append(await queue.peek(key, 0.0))
        asyncio.get_running_loop().call_soon(queue.put, key, "late")
        seen.append(await queue.peek(key, 30.0))
        queue.take(key)

    queue: KeyedQueue[int, str] = KeyedQueue("test", handle)
    queue.put(1, "early")
    await queue.join(30.0)
    assert seen == [None, "late"]


async def test_closing_cancels_running_work_and_starts_nothing() -> None:
    worker = Worker()
    worker.queue.put(1, "under way")
    worker.queue.put(1, "waits")
    await asyncio.sleep(0)
    await worker.queue.join(0.0)
    await worker.queue.close()
    worker.gate.set()
    worker.queue.put(2, "too late")
    assert worker.done == []
    assert 1 in worker.queue
    assert 2 not in worker.queue
    assert not worker.idle.is_set()
    await worker.queue.join(30.0)


async def test_what_is_abandoned_ends_and_new_work_begins() -> None:
    worker = Worker()
    worker.queue.put(1, "under way")
    worker.queue.put(1, "waits")
    await asyncio.sleep(0)
    await worker.queue.abandon()
    assert (worker.queue.waiting, 1 in worker.queue) == (0, False)
    worker.gate.set()
    worker.queue.put(1, "new")
    await worker.queue.join(30.0)
    assert worker.done == ["new"]
    assert 1 not in worker.queue


async def test_work_that_lost_its_lease_waits_to_be_abandoned() -> None:
    tried: list[str] = []

    async def lose(key: int) -> None:
        tried.append(queue.take(key))
        raise LeaseLost

    queue: KeyedQueue[int, str] = KeyedQueue("Test", lose)
    for item in ("one", "two"):
        queue.put(1, item)
    await queue.join(30.0)
    assert tried == ["one"]
    await queue.abandon()
    assert 1 not in queue


def test_the_time_of_a_backlog_grows_with_its_length_only() -> None:
    async def fill(keys: int) -> None:
        worker = Worker()
        for key in range(keys):
            worker.queue.put(key, "waits")
            assert [worker.queue.waiting for _ in range(10)] == [key + 1] * 10
        await worker.queue.close()

    assert superlinear(lambda keys: asyncio.run(fill(keys))) == ""
