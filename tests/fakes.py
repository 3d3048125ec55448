"""Small real implementations of the ports."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from routing.errors import BadArguments, ModelError, UnknownTool
from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.decisions import SIZES
from routing.types.llm import (
    ModelRequest,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCall,
    Usage,
)
from routing.types.people import Person
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope, Traits

Step = StreamEvent | ModelError | asyncio.Event
END = StreamEnd("stop", Usage(1, 2))


def says(text: str) -> list[Step]:
    """A complete answer."""
    return [TextDelta(text), END]


def calls(*wanted: ToolCall, text: str = "", usage: Usage | None = None) -> list[Step]:
    """An answer with tool calls."""
    words: list[Step] = [TextDelta(text)] if text else []
    return [*words, StreamEnd("tools", usage, wanted)]


class FakeLlm:
    """Plays one list of steps per call: yields events, raises errors, waits for an asyncio.Event."""

    def __init__(self, *calls: list[Step]) -> None:
        self._calls = list(calls)
        self.asked: list[ModelRequest] = []

    @property
    def made(self) -> int:
        """The number of calls."""
        return len(self.asked)

    async def ready(self) -> None: ...

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        steps = self._calls[self.made]
        self.asked.append(request)
        for step in steps:
            if isinstance(step, ModelError):
                raise step
            if isinstance(step, asyncio.Event):
                await step.wait()
            else:
                yield step

    async def knows(self, model: str) -> bool:
        return True


class Seen:
    """A live reply that records what was shown."""

    def __init__(self, on_show: Callable[[], None] = lambda: None) -> None:
        self.texts: list[str] = []
        self._on_show = on_show

    async def working(self) -> None: ...

    def show(self, text: str) -> None:
        self.texts.append(text)
        self._on_show()

    async def acknowledge(self, text: str = "", spent: bool = False) -> None: ...

    max_file_bytes = 50 * 2**20

    async def erase(self) -> bool:
        return True

    async def close(self) -> str:
        return ""


class FakeToolbox:
    """Tools as coroutine functions by name. `began` and `ended` record the order."""

    def __init__(self, tools: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[str]]], **traits: Traits) -> None:
        self._tools = tools
        self._traits = traits
        text = {name: ToolText(name, {"type": "object", "properties": {}}) for name in tools}
        cards = tuple(ToolCard(name, dict.fromkeys(SIZES, text[name])) for name in tools)
        self._toolkits = (Toolkit("fakes", "Fakes.", tools=cards, base=True),)
        self.began: list[str] = []
        self.ended: list[str] = []
        self.scopes: list[ToolScope] = []

    def toolkits(self) -> tuple[Toolkit, ...]:
        return self._toolkits

    async def offered(self, person: Person) -> tuple[Toolkit, ...]:
        return self._toolkits

    async def missing(self, person: Person) -> Mapping[str, str]:
        return {}

    def traits(self, name: str) -> Traits:
        return self._traits.get(name, Traits())

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        if call.name not in self._tools:
            raise UnknownTool(f"There is no tool {call.name}.")
        self.scopes.append(scope)
        self.began.append(call.id)
        try:
            given = json.loads(call.arguments)
        except ValueError:
            raise BadArguments("not JSON") from None
        result = await self._tools[call.name](given)
        self.ended.append(call.id)
        return result


class FakeServiceAccounts:
    """Connected accounts in memory."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._accounts: list[ServiceAccount] = []
        self._steps: dict[int, ConnectStep] = {}
        self._hints: dict[tuple[int, str], float] = {}

    async def of(self, person_id: int) -> tuple[ServiceAccount, ...]:
        return tuple(each for each in self._accounts if each.person_id == person_id)

    async def put(self, account: ServiceAccount) -> None:
        await self.remove(account.person_id, account.kind, account.label)
        self._accounts.append(account)

    async def remove(self, person_id: int, kind: str, label: str | None = None) -> int:
        def gone(each: ServiceAccount) -> bool:
            return (each.person_id, each.kind) == (person_id, kind) and label in (None, each.label)

        before = len(self._accounts)
        self._accounts = [each for each in self._accounts if not gone(each)]
        return before - len(self._accounts)

    async def steps(self) -> tuple[ConnectStep, ...]:
        return tuple(self._steps.values())

    async def set_step(self, step: ConnectStep) -> None:
        self._steps[step.person_id] = step

    async def end_step(self, person_id: int) -> None:
        self._steps.pop(person_id, None)

    async def hint(self, person_id: int, kind: str, since: float) -> bool:
        if self._hints.get((person_id, kind), -1.0) >= since:
            return False
        self._hints[person_id, kind] = self._clock()
        return True


class ManualClock:
    """Unix seconds; stands still until a test sets `now`."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class ShiftedClock:
    """A clock that is `ahead` seconds ahead of another one, by default the system clock."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._clock() + self.ahead


def later(seconds: float) -> None:
    """Advances all timers of this event loop."""
    loop: Any = asyncio.get_running_loop()
    if not isinstance(loop.time, ShiftedClock):
        loop.time = ShiftedClock(loop.time)
    loop.time.ahead += seconds
