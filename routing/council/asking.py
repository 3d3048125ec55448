"""Concurrent calls of a council, each with its own time limit."""

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
"""No call starts with less time left."""


class AskModel(Protocol):
    """Calls models without tools. Unwanted calls are cancelled. A Stop passed to it must be its own, because a Stop has
    one listener."""

    @property
    def paid_calls(self) -> Sequence[CallRecord]:
        """All calls so far that have to be paid for; cancelled ones have no token count."""

    async def __call__(self, seat: Seat, messages: tuple[ChatMessage, ...], seconds: float) -> str:
        """Return the model's answer. Raises ModelError, or TimeoutError after `seconds`."""


class Asking:
    """Calls models and turns failures into values."""

    def __init__(self, ask: AskModel, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock

    async def words(self, seat: Seat, messages: tuple[ChatMessage, ...], seconds: float) -> str | Failure:
        """A model's answer, or the reason why there is none."""
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
        """The number of this seat's calls that reached the provider."""
        return sum(call.model == seat.model for call in self._ask.paid_calls)


async def side_by_side(
    work: Mapping[str, Coroutine[None, None, None]],
    tell: Callable[[tuple[str, ...]], None],
    enough: Callable[[Sequence[str]], bool] = lambda waiting: False,
) -> tuple[str, ...]:
    """Run all named tasks concurrently. `tell` gets the names still running; once they are `enough`, the rest is
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
