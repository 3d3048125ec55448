"""Small real implementations of the ports."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from routing.errors import BadArguments, ModelError, Refused, UnknownTool
from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.decisions import SIZES
from routing.types.learning import MAX_ALL_EXAMPLES, MAX_EXAMPLES, Example, Signal
from routing.types.llm import (
    ModelRequest,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCall,
    Usage,
)
from routing.types.memory import MAX_FACTS, Fact, fact_key
from routing.types.messages import ChatKey, UserKey
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
        self._steps: dict[tuple[ChatKey, UserKey], ConnectStep] = {}
        self._hints: dict[tuple[int, str], float] = {}

    async def of(self, person_id: int) -> tuple[ServiceAccount, ...]:
        return tuple(each for each in self._accounts if each.person_id == person_id)

    async def put(self, account: ServiceAccount) -> None:
        await self.remove(account.person_id, account.kind, account.label)
        self._accounts.append(account)

    async def connect(self, account: ServiceAccount, step: ConnectStep, alone: bool) -> None:
        await self.remove(account.person_id, account.kind, None if alone else account.label)
        self._accounts.append(account)
        await self.end_step(step)

    async def remove(self, person_id: int, kind: str, label: str | None = None) -> int:
        def gone(each: ServiceAccount) -> bool:
            return (each.person_id, each.kind) == (person_id, kind) and label in (None, each.label)

        before = len(self._accounts)
        self._accounts = [each for each in self._accounts if not gone(each)]
        return before - len(self._accounts)

    async def steps(self) -> Mapping[tuple[ChatKey, UserKey], ConnectStep]:
        return dict(self._steps)

    async def set_step(self, step: ConnectStep) -> None:
        self._steps[step.chat, step.user] = step

    async def end_step(self, step: ConnectStep) -> None:
        self._steps.pop((step.chat, step.user), None)

    async def sweep(self, before: float) -> None:
        self._steps = {key: step for key, step in self._steps.items() if step.expires_at >= before}

    async def hint(self, person_id: int, kinds: Sequence[str], since: float) -> tuple[str, ...]:
        new = tuple(kind for kind in kinds if self._hints.get((person_id, kind), -1.0) < since)
        self._hints |= {(person_id, kind): self._clock() for kind in new}
        return new


class FakeFacts:
    """Implements `routing.ports.FactStore` in memory."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._of: dict[int, tuple[Fact, ...]] = {}
        self._ids = count(1)

    async def of(self, person_id: int) -> tuple[Fact, ...]:
        return self._of.get(person_id, ())

    async def add(self, person_id: int, fact: Fact) -> Fact:
        mine = await self.of(person_id)
        same = next((each for each in mine if fact_key(each.text) == fact_key(fact.text)), None)
        if same is None and len(mine) >= MAX_FACTS:
            raise Refused("full")
        new = replace(fact, id=same.id if same else next(self._ids), at=self._clock())
        new = replace(new, pinned=new.pinned or (same is not None and same.pinned))
        self._put(person_id, (*mine, new) if same is None else [new if each is same else each for each in mine])
        return new

    async def edit(self, person_id: int, fact_id: int, text: str) -> Fact | None:
        own = next((each for each in await self.of(person_id) if each.id == fact_id), None)
        if own is None:
            return None
        new = Fact(fact_id, text, self._clock(), "person", pinned=own.pinned)
        kept = [each for each in await self.of(person_id) if each is own or fact_key(each.text) != fact_key(text)]
        self._put(person_id, [new if each is own else each for each in kept])
        return new

    async def pin(self, person_id: int, fact_id: int, pinned: bool) -> Fact | None:
        mine = [replace(each, pinned=pinned) if each.id == fact_id else each for each in await self.of(person_id)]
        self._put(person_id, mine)
        return next((each for each in mine if each.id == fact_id), None)

    async def delete(self, person_id: int, ids: Collection[int]) -> tuple[Fact, ...]:
        mine = await self.of(person_id)
        self._put(person_id, [each for each in mine if each.id not in ids])
        return tuple(each for each in mine if each.id in ids)

    def _put(self, person_id: int, facts: Iterable[Fact]) -> None:
        self._of[person_id] = tuple(facts)


class FakeExamples:
    """Examples in memory."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: dict[int, tuple[Example, ...]] = {}
        self._ids = count(1)

    async def of(self, person_id: int) -> tuple[Example, ...]:
        return self._kept.get(person_id, ())

    async def add(self, person_id: int, examples: Sequence[Example]) -> None:
        new = {(each.turn_id, each.lesson) for each in examples}
        kept = [each for each in self._kept.get(person_id, ()) if (each.turn_id, each.lesson) not in new]
        added = [replace(each, id=next(self._ids), at=self._clock()) for each in examples]
        self._kept[person_id] = (*kept, *added)[-MAX_EXAMPLES:]
        newest = max((each.id for each in added), default=0)
        for person, theirs in self._kept.items():
            self._kept[person] = tuple(each for each in theirs if each.id > newest - MAX_ALL_EXAMPLES)

    async def remove(self, person_id: int, turn_id: str, signals: Collection[Signal]) -> None:
        kept = self._kept.get(person_id, ())
        self._kept[person_id] = tuple(
            each for each in kept if each.turn_id != turn_id or each.lesson.signal not in signals
        )

    async def clear(self, person_id: int | None = None) -> int:
        gone = [person_id] if person_id is not None else list(self._kept)
        return sum(len(self._kept.pop(each, ())) for each in gone)


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
