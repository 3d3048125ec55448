"""Limits the commands that run at once, in total and per person."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handlers.tools.sandbox.queue import Busy, FairQueue
from routing.errors import ToolFailed
from tests.handlers.tools.sandbox.test_sandbox import BEN, home, made, pipes, read_pipe, shell


@pytest.mark.system
async def test_a_long_wait_for_a_slot_is_explained(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    one, two, go = pipes(tmp_path, "one", "two", "go")
    line = "echo up > {}; read x < go"
    running = [asyncio.create_task(shell(sandbox, line.format(name))) for name in ("one", "two")]
    await asyncio.gather(read_pipe(one), read_pipe(two))
    sandbox.wait_seconds = 0
    with pytest.raises(ToolFailed, match=r"busy with other commands.* was not started: try again in a minute"):
        await shell(sandbox, "touch third")
    assert (await shell(sandbox, "echo mine", BEN)).output == "mine\n"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert go.exists()
    assert not (home(tmp_path) / "third").exists()


async def test_slots_rotate_among_people() -> None:
    places, order, going = FairQueue(2, 2), [], asyncio.Event()

    async def work(person: int, name: str) -> None:
        async with places.taken(person, 60):
            order.append(name)
            await going.wait() if name in ("a1", "a2") else await asyncio.sleep(0)

    tasks = []
    for person, name in [(1, "a1"), (1, "a2"), (1, "a3"), (1, "a4"), (2, "b1"), (2, "b2"), (3, "c1")]:
        tasks.append(asyncio.create_task(work(person, name)))
        await asyncio.sleep(0)
    assert order == ["a1", "a2"]
    going.set()
    await asyncio.gather(*tasks)
    assert order.index("b1") < order.index("a3")
    assert order.index("c1") < order.index("a3")
    assert sorted(order) == ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]


async def test_an_abandoned_slot_goes_to_the_next() -> None:
    places, held = FairQueue(1, 1), asyncio.Event()
    got: list[str] = []

    async def work(person: int, name: str, until: asyncio.Event | None = None) -> None:
        async with places.taken(person, 60):
            got.append(name)
            await (until.wait() if until else asyncio.sleep(0))

    first = asyncio.create_task(work(1, "first", held))
    await asyncio.sleep(0)
    gone, last = asyncio.create_task(work(2, "gone")), asyncio.create_task(work(3, "last"))
    await asyncio.sleep(0)
    held.set()
    for _ in range(10):
        if places.waiting > 1:
            await asyncio.sleep(0)
    gone.cancel()  # its slot was given at this moment
    await asyncio.gather(first, last)
    assert got == ["first", "last"]
    assert (await asyncio.gather(gone, return_exceptions=True))[0] is not None
    with pytest.raises(Busy):
        async with places.taken(4, 60), places.taken(5, 0):
            pass
    assert places.waiting == 0


@pytest.mark.system
async def test_a_persons_third_command_waits_without_blocking_others(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    one, two, go = pipes(tmp_path, "one", "two", "go")
    line = "echo up > {}; read x < go"
    first, second = (asyncio.create_task(shell(sandbox, line.format(name))) for name in ("one", "two"))
    await asyncio.gather(read_pipe(one), read_pipe(two))
    third = asyncio.create_task(shell(sandbox, "touch third"))
    for _ in range(3):
        assert (await shell(sandbox, "echo mine", BEN)).output == "mine\n"
    assert not (home(tmp_path) / "third").exists()
    assert not third.done()
    first.cancel()
    assert (await third).exit_code == 0
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert (home(tmp_path) / "third").exists()
    assert go.exists()
