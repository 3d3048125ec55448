"""The calls of a council: each within its seconds, several at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Protocol

from routing.council.seats import Seat
from routing.council.verdict import Failure
from routing.errors import ModelError
from routing.ports import Clock
from routing.text import storable
from routing.types.llm import ChatMessage
from routing.types.usage import CallRecord

LEAST_SECONDS = 2.0
"""No call is made for less."""


class AskModel(Protocol):
    """Calls to models, without tools. What is no longer wanted is cancelled; a Stop that it listens to must be its own,
    for a Stop has one listener."""

    @property
    def books(self) -> Sequence[CallRecord]:
        """All calls so far that are to be paid for: without a count those that were ended."""

    async def __call__(self, seat: Seat, messages: tuple[ChatMessage, ...], seconds: float) -> str:
        """What the model says. Raises ModelError; TimeoutError when `seconds` were too few."""


class Asking:
    """Asks, and knows why there is no answer."""

    def __init__(self, ask: AskModel, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock

    async def words(self, seat: Seat, messages: tuple[ChatMessage, ...], seconds: float) -> str | Failure:
        """What a model says, or why it says nothing."""
        if seconds < LEAST_SECONDS:
            return Failure("late")
        began, before = self._clock(), self._calls(seat)
        try:
            async with asyncio.timeout(seconds):
                text = await self._ask(seat, messages, seconds)
        except TimeoutError:
            return Failure("late" if self._calls(seat) > before else "line")
        except ModelError as error:
            return Failure("late" if self._clock() - began >= seconds else "failed", error.reason)
        return storable(text).strip() or Failure("empty")

    def _calls(self, seat: Seat) -> int:
        """How many of the calls that a provider had are this seat's."""
        return sum(call.model == seat.model for call in self._ask.books)


async def side_by_side(
    work: Mapping[str, Coroutine[None, None, None]],
    tell: Callable[[tuple[str, ...]], None],
    enough: Callable[[Sequence[str]], bool] = lambda waiting: False,
) -> tuple[str, ...]:
    """Run all named work at the same time. `tell` hears who is still waited for; once that is `enough`, the rest is
    cancelled and its names are returned."""
    names = {asyncio.create_task(each): name for name, each in work.items()}
    waiting = set(names)
    try:
        tell(tuple(names.values()))
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            left = tuple(name for task, name in names.items() if task in waiting)
            tell(left)
            if left and enough(left):
                return left
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*names, return_exceptions=True)
    return ()
