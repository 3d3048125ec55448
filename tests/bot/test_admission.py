"""Which turns start at once, and which wait for the event loop."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from bot.inbox.admission import ALWAYS, BURST, Admission
from routing.types.stop import Stop


async def begin(admission: Admission, number: int) -> list[AsyncExitStack]:
    """Starts turns; `aclose` ends each."""
    stacks = [AsyncExitStack() for _ in range(number)]
    for stack in stacks:
        await stack.enter_async_context(admission.turn(Stop()))
    return stacks


async def test_turns_start_at_once_on_an_idle_loop() -> None:
    """They wait for a model, so the loop is free."""
    await begin(Admission(), 3 * ALWAYS)


async def test_while_the_loop_lags_a_turn_starts_when_another_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.admission.MAX_LAG_SECONDS", -1.0)
    monkeypatch.setattr("bot.inbox.admission.MAX_WAIT_SECONDS", 600.0)
    admission = Admission()
    running = await begin(admission, ALWAYS)
    order: list[int] = []

    async def turn(number: int) -> None:
        async with admission.turn(Stop()):
            order.append(number)
            await asyncio.Event().wait()

    waiting = [asyncio.create_task(turn(number)) for number in range(2)]
    await asyncio.wait(waiting, timeout=0.1)
    assert order == []
    for number in range(2):
        await running[number].aclose()
        await asyncio.wait(waiting, timeout=0.1)
        assert order == list(range(number + 1))
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


async def test_a_burst_holds_turns_back_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a backlog, and the commands in it, are fetched first."""
    monkeypatch.setattr("bot.inbox.admission.BURST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.MAX_WAIT_SECONDS", 600.0)
    admission = Admission()
    admission.accepted(BURST - 1)
    await begin(admission, 1)
    admission.accepted(BURST)
    held = asyncio.create_task(begin(admission, 1))
    await asyncio.wait([held], timeout=0.1)
    assert not held.done()
    held.cancel()


async def test_the_first_waiting_turn_starts_eventually(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.admission.BURST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.MAX_WAIT_SECONDS", 0.02)
    admission = Admission()
    admission.accepted(BURST)
    await begin(admission, 3)


async def test_endless_bursts_delay_turns_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.admission.BURST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.MAX_WAIT_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.MAX_BURST_SECONDS", 0.05)
    admission = Admission()
    admission.accepted(BURST)
    turns = asyncio.create_task(begin(admission, 3))
    while not turns.done():
        admission.accepted(BURST)
        await asyncio.wait([turns], timeout=0.01)
    turns.result()
