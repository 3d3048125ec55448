"""Which toolkits a message is about: asks the selection, and goes on without what is missing of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from routing.errors import EmbedderFailed
from routing.ports import Embedder, VectorStore
from routing.tools.fallback_reasons import BUSY, FAILED, OTHERS, PATIENCE_SECONDS, SLOW
from routing.tools.indexing import Indexed, ToolIndex, is_cancelled
from routing.tools.keywords import MOST_CHARACTERS, heard
from routing.types.toolkits import Toolkit

if TYPE_CHECKING:  # numpy and the dictionaries come late, in a thread
    from routing.tools.selection.catalogue import Catalogue
    from routing.tools.selection.selector import Decision, Part
    from routing.types.vectors import Floats

LONGEST_SECONDS = 5.0
"""How long the comparing itself may take, with all that waits before; one message among forty tools takes 3 ms
(measured)."""
MOST_REMEMBERED = 256
HEARD, UNHEARD = 3.0, -3.0
"""The odds of a tool where only keywords are compared."""

Why = Literal["keyword", "embed", "follow-up", "used"]
P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Activated:
    """A toolkit that is shown: what found it, and how probable it is (0 to 1) that it is meant."""

    toolkit: str
    why: Why
    score: float


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """What one message is about, likeliest first, and the odds (natural logarithms) of each tool by name. `doubt` says
    why only words were compared; it is empty when vectors were, or needed not be."""

    activated: tuple[Activated, ...] = ()
    relevance: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""


class ToolChooser:
    """Keeps an index of all toolkits. Until it is there, and whenever vectors are missing, late or broken, words alone
    decide: there is always an answer, soon. `toolkits` gives those of the moment, the same tuple until they change."""

    def __init__(
        self,
        toolkits: Callable[[], tuple[Toolkit, ...]],
        embedder: Embedder | None,
        vectors: VectorStore,
        cache: Path | None = None,
        wait_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Without an embedder no vectors are compared; in the file `cache` the index is kept for the next start. A
        message waits `wait_seconds` for its vectors."""
        self._wait_seconds = wait_seconds
        self._toolkits = toolkits
        self._embedder = embedder
        self._index = ToolIndex(embedder, vectors, cache)
        self._of: tuple[Toolkit, ...] | None = None
        self._late = ""
        self._closed = False
        # Its own: threads that others use may all be waiting for a name server.
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="selection")

    @property
    def doubt(self) -> str:
        """Why vectors are not compared at the moment: what the index lacks, or else what befell the last message that
        needed them, until they are compared for another; empty when they are."""
        return self._index.latest.doubt or self._late

    def start(self) -> None:
        """Make the index in the background, unless it is there for the toolkits of the moment."""
        toolkits = self._toolkits()
        if toolkits is not self._of and not self._closed:
            self._of, self._late = toolkits, ""
            self._index.make(toolkits)

    async def close(self) -> None:
        """End what runs in the background; messages are still answered by what there is."""
        self._closed = True
        await self._index.close()
        if self._embedder is not None:
            await self._embedder.close()

    async def choose(self, message: str, among: frozenset[str] | None = None) -> ToolSelection:
        """Only of the toolkits `among` these. Never an error, and never long: LONGEST_SECONDS and the wait for vectors
        at most. Signs without a letter or a digit are about nothing."""
        message = message[:MOST_CHARACTERS]
        if not any(map(str.isalnum, message)):
            return ToolSelection()
        self.start()
        if not self._index.ready.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._index.ready.wait(), PATIENCE_SECONDS)
        index = self._index.latest
        if index.catalogue is None:
            return self._by_keyword(message, among, index.doubt)
        known: Mapping[object, ToolSelection] = index.known
        if (message, among) in known:
            return known[message, among]
        try:
            async with asyncio.timeout(LONGEST_SECONDS + self._wait_seconds):
                chosen = await self._chosen(index.catalogue, message, among, index.doubt)
            chosen = self._with_new(index, message, among, chosen)
        except TimeoutError:
            self._late = BUSY
            return self._by_keyword(message, among, BUSY)
        except Exception:  # whatever the selection did not foresee: the turn goes on, the log has it
            log.exception("[Embeddings] A selection failed")
            self._late = FAILED
            return self._by_keyword(message, among, FAILED)
        if not chosen.doubt:
            if len(known) >= MOST_REMEMBERED:
                del index.known[next(iter(known))]
            index.known[message, among] = chosen
        return chosen

    async def _chosen(
        self, catalogue: Catalogue, message: str, among: frozenset[str] | None, doubt: str
    ) -> ToolSelection:
        """In a thread, for which the event loop does not wait."""
        parts, wanted, decision = await self._in_thread(self._at_once, catalogue, message, among)
        late, named = "", frozenset[str]()
        if decision is None:  # vectors have to be waited for
            wanted, named = self._left_open(catalogue, parts, among)
            vectors, late = await self._vectors(wanted) if wanted else ({}, "")
            if vectors and not catalogue.takes(vectors):
                vectors, late, self._of = {}, OTHERS, None  # the next message has the tools embedded anew
            decision = await self._in_thread(catalogue.decide, parts, vectors, among)
        if wanted:
            self._late = late
        found = {each.name: Activated(each.name, each.stage, each.probability) for each in decision.chosen}
        activated = tuple(({name: Activated(name, "keyword", 1.0) for name in named} | found).values())
        relevance = dict(zip(catalogue.tools, decision.odds.tolist(), strict=True))
        return ToolSelection(activated, relevance, doubt or late)

    def _left_open(
        self, catalogue: Catalogue, parts: Sequence[Part], among: frozenset[str] | None
    ) -> tuple[tuple[str, ...], frozenset[str]]:
        """Texts whose vectors are needed, and the toolkits that a keyword names: a clause with keywords of exactly one
        toolkit is decided by that. Toolkits that are there for every message don't count."""
        toolkits = [each for each in self._toolkits() if not each.base and (among is None or each.name in among)]
        heard_in = [[each.name for each in heard(toolkits, part.clause)] for part in parts]
        unnamed = [part for part, names in zip(parts, heard_in, strict=True) if len(names) != 1]
        return catalogue.open(unnamed), frozenset(names[0] for names in heard_in if len(names) == 1)

    def _at_once(
        self, catalogue: Catalogue, message: str, among: frozenset[str] | None
    ) -> tuple[tuple[Part, ...], tuple[str, ...], Decision | None]:
        """What the words say, texts whose vectors are needed, and the decision, if these need not be waited for."""
        parts = catalogue.parts(message)
        wanted = catalogue.open(parts)
        if not wanted or self._embedder is None:
            return parts, wanted, catalogue.decide(parts, {}, among)
        rows = self._embedder.at_once(wanted)
        if rows is None:
            return parts, wanted, None
        return parts, wanted, catalogue.decide(parts, dict(zip(wanted, rows, strict=True)), among)

    def _with_new(
        self, index: Indexed, message: str, among: frozenset[str] | None, chosen: ToolSelection
    ) -> ToolSelection:
        """With the toolkits that came after the index was made, by their keywords."""
        toolkits = self._toolkits()
        if toolkits is index.toolkits:
            return chosen
        indexed = {id(each) for each in index.toolkits}
        new = self._by_keyword(message, among, "", [each for each in toolkits if id(each) not in indexed])
        activated = {each.toolkit: each for each in (*new.activated, *chosen.activated)}
        return ToolSelection(tuple(activated.values()), {**chosen.relevance, **new.relevance}, chosen.doubt)

    def _by_keyword(
        self, message: str, among: frozenset[str] | None, doubt: str, of: Sequence[Toolkit] | None = None
    ) -> ToolSelection:
        """What keywords alone say, `of` all toolkits or of some."""
        toolkits = [each for each in (self._toolkits() if of is None else of) if among is None or each.name in among]
        activated = by_keyword(toolkits, message)
        meant = {each.toolkit for each in activated}
        odds = ((card.name, HEARD if each.name in meant else UNHEARD) for each in toolkits for card in each.tools)
        return ToolSelection(activated, dict(odds), doubt)

    async def _in_thread(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*given, **named))

    async def _vectors(self, texts: Sequence[str]) -> tuple[dict[str, Floats], str]:
        """By text, or why there are none."""
        assert self._embedder is not None, "a catalogue with vectors was embedded by it"
        try:
            async with asyncio.timeout(self._wait_seconds):
                return dict(zip(texts, await self._embedder.embed(texts), strict=True)), ""
        except TimeoutError:
            return {}, SLOW
        except EmbedderFailed as error:
            return {}, str(error)
        except (Exception, asyncio.CancelledError) as error:  # whatever an encoder did not foresee: words are left
            if is_cancelled():
                raise
            log.exception("[Embeddings] A message could not be embedded")
            return {}, f"the message could not be embedded ({type(error).__name__}, see the log)"


def by_keyword(toolkits: Sequence[Toolkit], message: str) -> tuple[Activated, ...]:
    """Toolkits one of whose keywords is said as whole words, or anywhere where a script has no spaces."""
    return tuple(Activated(each.name, "keyword", 1.0) for each in heard(toolkits, message))
