"""Injected faults that both chat servers share."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar


class Dropped(Exception):
    """The connection is closed without an answer."""


@dataclass(slots=True, eq=False, kw_only=True)
class InjectedFault:
    """Applies to calls that satisfy `when` (given the body), after `skip` of them, `times` times (None: until `clear`).
    `hits` counts them. Delayed calls wait for `seconds`, or until `release`."""

    KINDS: ClassVar[tuple[str, ...]]

    kind: str
    times: int | None = 1
    seconds: float = 60.0
    text: str = ""
    skip: int = 0
    when: Callable[[Any], Any] | None = None
    hits: int = field(default=0, init=False)
    _released: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        if self.kind not in self.KINDS:
            raise ValueError(f"unknown fault {self.kind!r}; one of {', '.join(self.KINDS)}")

    def counts(self, body: Any) -> bool:
        """Counts a matching call; returns whether the fault applies to it."""
        if self.times == 0 or (self.when is not None and not self.when(body)):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.hits += 1
        if self.times is not None:
            self.times -= 1
        return True

    def clear(self) -> None:
        """Stops the fault."""
        self.times = 0

    def release(self) -> None:
        """Releases the waiting calls."""
        self._released.set()

    async def before_the_call(self) -> None:
        """Waits, and raises Dropped, if the fault comes before the call."""
        if self.kind == "hang":
            await self._wait()
        if self.kind in ("hang", "drop", "drop_before"):
            raise Dropped

    async def after_the_call(self) -> None:
        """Waits, and raises Dropped, if the fault comes after the call."""
        if self.kind in ("slow", "hang_after"):
            await self._wait()
        if self.kind in ("drop_after", "hang_after"):
            raise Dropped

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._released.wait(), self.seconds)
