"""Which toolkits a message is about: asks the selection, and goes on without what is missing of it."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from routing.doubts import EMBEDDING, FAILED, LOADING, OFF, PATIENCE_SECONDS, SLOW, UNMADE
from routing.embedding.embedder import Embedder, EmbedderFailed
from routing.keywords import MOST_CHARACTERS, heard
from routing.memory import give_back
from routing.toolkits import Toolkit
from routing.vectors import VectorStore

if TYPE_CHECKING:  # numpy and the dictionaries come late, in a thread
    from routing.selection.catalogue import Catalogue
    from routing.selection.lexical import Floats

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 30.0, 600.0
SETTLED_SECONDS = 3600.0
"""How long toolkits stay the same until the vectors of others are deleted: a server that is away for a while, or not
yet connected after a start, need not be embedded anew."""
MOST_REMEMBERED = 256
HEARD, UNHEARD = 3.0, -3.0
"""The odds of a tool where only keywords are compared."""

Why = Literal["keyword", "embed", "follow-up", "used"]
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
    ) -> None:
        """Without an embedder no vectors are compared; in the file `cache` the index is kept for the next start."""
        self._toolkits = toolkits
        self._embedder = embedder
        self._store = vectors
        self._cache = cache
        self._catalogue: Catalogue | None = None
        self._of: tuple[Toolkit, ...] | None = None
        self._work: asyncio.Task[None] | None = None
        self._indexed = asyncio.Event()
        self._doubt = LOADING
        self._late = ""
        self._known: dict[str, ToolSelection] = {}
        self._closed = False

    @property
    def doubt(self) -> str:
        """Why vectors are not compared at the moment: what the index lacks, or else what befell the last message that
        needed them, until they are compared for another; empty when they are."""
        return self._doubt or self._late

    def start(self) -> None:
        """Make the index in the background, unless it is there for the toolkits of the moment."""
        toolkits = self._toolkits()
        if toolkits is self._of or self._closed:
            return
        self._of = toolkits
        if self._work is not None:
            self._work.cancel()
        self._work = asyncio.create_task(self._index(toolkits))

    async def close(self) -> None:
        """End what runs in the background; messages are still answered by what there is."""
        self._closed = True
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
        if self._embedder is not None:
            await self._embedder.close()

    async def choose(self, message: str) -> ToolSelection:
        """Never an error, and never long after PATIENCE_SECONDS."""
        message = message[:MOST_CHARACTERS]
        self.start()
        if not self._indexed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._indexed.wait(), PATIENCE_SECONDS)
        catalogue, known, doubt = self._catalogue, self._known, self._doubt
        if catalogue is None:
            return _by_keyword(self._toolkits(), message, doubt)
        if message in known:
            return known[message]
        try:
            chosen = await self._chosen(catalogue, message, doubt)
        except Exception:  # whatever the selection did not foresee: the turn goes on, the log has it
            log.exception("[Embeddings] A selection failed")
            self._late = FAILED
            return _by_keyword(self._toolkits(), message, FAILED)
        if not chosen.doubt:
            if len(known) >= MOST_REMEMBERED:
                del known[next(iter(known))]
            known[message] = chosen
        return chosen

    async def _chosen(self, catalogue: Catalogue, message: str, doubt: str) -> ToolSelection:
        """In a thread: 3 ms for a message and 9 ms for a long one (forty tools, measured), and more on a small machine,
        for which the event loop does not wait."""
        parts = await asyncio.to_thread(catalogue.parts, message)
        wanted = catalogue.open(parts)
        vectors, late = await self._vectors(wanted) if wanted else ({}, "")
        decision = await asyncio.to_thread(catalogue.decide, parts, vectors)
        if wanted:
            self._late = late
        activated = tuple(Activated(each.name, each.stage, each.probability) for each in decision.chosen)
        relevance = dict(zip(catalogue.tools, decision.odds.tolist(), strict=True))
        return ToolSelection(activated, relevance, doubt or late)

    async def _vectors(self, texts: Sequence[str]) -> tuple[dict[str, Floats], str]:
        """By text, or why there are none."""
        assert self._embedder is not None, "a catalogue with vectors was embedded by it"
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return dict(zip(texts, await self._embedder.embed(texts), strict=True)), ""
        except TimeoutError:
            return {}, SLOW
        except EmbedderFailed as error:
            return {}, str(error)
        except (Exception, asyncio.CancelledError) as error:  # whatever an encoder did not foresee: words are left
            if _is_cancelled():
                raise
            log.exception("[Embeddings] A message could not be embedded")
            return {}, f"the message could not be embedded ({type(error).__name__}, see the log)"

    async def _index(self, toolkits: tuple[Toolkit, ...]) -> None:
        """The words first, then the vectors; what is not needed any more is forgotten in the end."""
        try:
            catalogue = await asyncio.to_thread(_catalogue, toolkits, self._cache)
        except Exception as error:  # a library that this machine can't load, or a broken file: keywords are left
            log.exception("[Embeddings] The index of the tools could not be made")
            self._use(self._catalogue, f"{UNMADE} ({type(error).__name__}, see the log)")
            return
        self._use(catalogue, OFF if self._embedder is None else EMBEDDING)
        if self._embedder is not None:
            await self._embed(catalogue, self._embedder)
            await asyncio.to_thread(give_back)
            await asyncio.sleep(SETTLED_SECONDS)
            await catalogue.forget(self._embedder.name, self._store)

    async def _embed(self, catalogue: Catalogue, embedder: Embedder) -> None:
        """Again and again until the vectors are there."""
        wait = RETRY_SECONDS
        while True:
            try:
                await catalogue.embed(embedder, self._store)
            except EmbedderFailed as error:
                log.warning("[Embeddings] None: %s", error)
                self._use(catalogue, str(error))
            except (Exception, asyncio.CancelledError) as error:  # whatever an encoder did not foresee: words are left
                if _is_cancelled():
                    raise
                log.exception("[Embeddings] The tools could not be embedded")
                self._use(catalogue, f"the tools could not be embedded ({type(error).__name__}, see the log)")
            else:
                self._use(catalogue, "")
                log.info("[Embeddings] %d tools, with %s", len(catalogue.tools), embedder.name)
                return
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_RETRY_SECONDS)

    def _use(self, catalogue: Catalogue | None, doubt: str) -> None:
        self._catalogue, self._doubt = catalogue, doubt
        self._known = {}  # another: a decision that was begun before goes into the old one
        self._indexed.set()


def by_keyword(toolkits: Sequence[Toolkit], message: str) -> tuple[Activated, ...]:
    """Toolkits one of whose keywords is said as whole words, or anywhere where a script has no spaces."""
    return tuple(Activated(each.name, "keyword", 1.0) for each in heard(toolkits, message))


def _by_keyword(toolkits: Sequence[Toolkit], message: str, doubt: str) -> ToolSelection:
    """What keywords alone say."""
    activated = by_keyword(toolkits, message)
    meant = {each.toolkit for each in activated}
    odds = ((card.name, HEARD if each.name in meant else UNHEARD) for each in toolkits for card in each.tools)
    return ToolSelection(activated, dict(odds), doubt)


def _is_cancelled() -> bool:
    """Whether we are to end, and not only what we wait for."""
    return (task := asyncio.current_task()) is not None and task.cancelling() > 0


def _catalogue(toolkits: tuple[Toolkit, ...], cache: Path | None) -> Any:
    return importlib.import_module("routing.selection.catalogue").Catalogue(toolkits, cache)
