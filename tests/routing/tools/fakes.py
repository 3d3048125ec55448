"""Toolkits that change, an encoder with scripted failures, and vectors in a dictionary."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from routing.errors import StorageFault
from routing.tools.embedding.message_vectors import MessageVectors
from routing.tools.fallback_reasons import INDEX_WAIT_SECONDS
from routing.tools.selector import ToolSelector
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.vectors import Floats
from tests.polling import until
from tests.routing.tools.selection.catalogue import TopicEncoder

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def card(name: str, description: str = "", *examples: str, category: str = "") -> ToolCard:
    """A tool whose texts name their size."""
    texts = {size: ToolText(f"{size}: {description or name}", CITY) for size in SIZES}
    return ToolCard(name, texts, category, examples)


def toolkit(name: str, *cards: ToolCard, keywords: Sequence[str] = (), base: bool = False) -> Toolkit:
    return Toolkit(name, f"All about {name}.", keywords=tuple(keywords), tools=cards, base=base)


WEATHER = toolkit(
    "weather",
    card("get_weather", "Tell the weather at a place.", "will it rain tomorrow", "is it sunny outside"),
    card("weather_alerts", "List warnings of storms.", "are there warnings of storms"),
    keywords=("weather", "forecast", "Wetter", "天气", "umbrella", "Außentemperatur"),
)
ALARM = toolkit(
    "alarm",
    card("set_alarm", "Ring at a time.", "wake me at six", "get me out of bed early"),
    keywords=("alarm", "alarm clock", "get me out of bed", "Wecker"),
)
MUSIC = toolkit("music", card("play_music", "Play a song.", "put on some jazz"), keywords=("song", "music"))
BASICS = toolkit("basics", card("calculate", "Work out a sum."), card("discover_tools", "Find tools."), base=True)

OPEN = "sunny or drizzle"
"""No keyword matches this; the encoder knows it."""


class Slow(tuple[Toolkit, ...]):
    """Toolkits that block other threads until the gate is open."""

    gate: threading.Event

    @classmethod
    def of(cls, *toolkits: Toolkit) -> Slow:
        made = cls(toolkits)
        made.gate = threading.Event()
        return made

    def __iter__(self) -> Iterator[Toolkit]:
        if threading.current_thread() is not threading.main_thread():
            assert self.gate.wait(60)
        return super().__iter__()


class Broken(tuple[Toolkit, ...]):
    """Toolkits that can't be indexed."""

    def __iter__(self) -> Iterator[Toolkit]:
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("secret detail")
        return super().__iter__()


Outcome = BaseException | asyncio.Event | Callable[[Floats], Floats]
"""Raised, awaited, or applied to the rows."""


class FakeEmbedder:
    """Knows groups of related words. Each of the `fates` applies to one call; `asked` are the texts by call; `reached`
    is set when a call waits."""

    def __init__(self, *fates: Outcome | None, name: str = "matters:1") -> None:
        self.name = name
        self.fates = list(fates)
        self.asked: list[tuple[str, ...]] = []
        self.closed = False
        self.reached = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Floats:
        self.asked.append(tuple(texts))
        rows = TopicEncoder().encode(texts)
        fate = self.fates.pop(0) if self.fates else None
        if isinstance(fate, BaseException):
            raise fate
        if isinstance(fate, asyncio.Event):
            self.reached.set()
            await fate.wait()
        elif fate is not None:
            return fate(rows)
        return rows

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        return None

    async def close(self) -> None:
        self.closed = True

    @property
    def texts(self) -> list[str]:
        """All texts that were embedded."""
        return [text for call in self.asked for text in call]


class FakeVectors:
    """Implements `routing.ports.VectorStore`; with a `fault` nothing can be read or stored."""

    def __init__(self, fault: StorageFault | None = None) -> None:
        self.rows: dict[tuple[str, str], bytes] = {}
        self.fault = fault
        self.forgot = asyncio.Event()

    async def get(self, encoder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        self._check()
        return {each: self.rows[encoder, each] for each in hashes if (encoder, each) in self.rows}

    async def put(self, encoder: str, vectors: Mapping[str, bytes]) -> None:
        self._check()
        self.rows |= {(encoder, each): row for each, row in vectors.items()}

    async def keep(self, encoder: str, hashes: Collection[str]) -> int:
        self.forgot.set()
        self._check()
        stale = [key for key in self.rows if key[0] != encoder or key[1] not in hashes]
        for key in stale:
            del self.rows[key]
        return len(stale)

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault


class Selecting:
    """A selector and all its inputs."""

    def __init__(
        self,
        *toolkits: Toolkit,
        embedder: FakeEmbedder | None = None,
        store: FakeVectors | None = None,
        wait_seconds: float = INDEX_WAIT_SECONDS,
    ) -> None:
        self.toolkits: tuple[Toolkit, ...] = toolkits or (WEATHER, ALARM, MUSIC, BASICS)
        self.embedder = embedder
        self.store = store or FakeVectors()
        self.messages = MessageVectors(embedder, wait_seconds) if embedder is not None else None
        self.selector = ToolSelector(lambda: self.toolkits, self.messages, self.store)

    async def indexed(self, fallback_reason: str = "") -> Selecting:
        """Wait until the index is complete, or as complete as it can be; the background work sends no event."""
        self.selector.start()
        await until(lambda: self.selector.fallback_reason == fallback_reason)
        return self

    async def found(self, message: str) -> dict[str, Any]:
        """How each toolkit was found."""
        return {each.toolkit: each.why for each in (await self.selector.match(message)).activated}


Made = Callable[..., Selecting]
