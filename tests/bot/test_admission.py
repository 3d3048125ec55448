"""Which turns begin at once, and which wait for the event loop."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from bot.inbox.admission import ALWAYS, BURST, Admission
from routing.types.stop import Stop


async def begin(admission: Admission, number: int) -> list[AsyncExitStack]:
    """Start turns; each is ended by its `aclose`."""
    stacks = [AsyncExitStack() for _ in range(number)]
    for stack in stacks:
        await stack.enter_async_context(admission.turn(Stop()))
    return stacks


async def test_turns_that_cost_nothing_all_begin() -> None:
    """They wait for a model, and the loop is free."""
    await begin(Admission(), 3 * ALWAYS)


async def test_while_the_loop_is_late_a_turn_begins_when_another_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.admission.MAX_LAG_SECONDS", -1.0)
    monkeypatch.setattr("bot.inbox.admission.LONGEST_SECONDS", 600.0)
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
    """So that the rest of a backlog, and the commands in it, are fetched first."""
    monkeypatch.setattr("bot.inbox.admission.BURST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.LONGEST_SECONDS", 600.0)
    admission = Admission()
    admission.accepted(BURST - 1)
    await begin(admission, 1)
    admission.accepted(BURST)
    held = asyncio.create_task(begin(admission, 1))
    await asyncio.wait([held], timeout=0.1)
    assert not held.done()
    held.cancel()


async def test_the_first_turn_in_line_is_not_held_back_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.admission.BURST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.LONGEST_SECONDS", 0.02)
    admission = Admission()
    admission.accepted(BURST)
    await begin(admission, 3)


async def test_bursts_without_end_do_not_hold_turns_back_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.admission.BURST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.LONGEST_SECONDS", 600.0)
    monkeypatch.setattr("bot.inbox.admission.LONGEST_BURST_SECONDS", 0.05)
    admission = Admission()
    admission.accepted(BURST)
    turns = asyncio.create_task(begin(admission, 3))
    while not turns.done():
        admission.accepted(BURST)
        await asyncio.wait([turns], timeout=0.01)
    turns.result()
