"""Decides which toolkits a message is about, and continues without whatever part of the selection is missing."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from routing.error_boundary import ErrorBoundary
from routing.ports import VectorStore
from routing.tools.embedding.message_vectors import MessageVectors
from routing.tools.fallback_reasons import BUSY, FAILED, INDEX_WAIT_SECONDS, MODEL_CHANGED
from routing.tools.index_builder import Index, IndexBuilder
from routing.types.toolkits import Toolkit

if TYPE_CHECKING:  # numpy and the dictionaries are imported later, in a thread
    from routing.tools.selection.catalogue import Catalogue
    from routing.tools.selection.ranker import Clause, Decision

MAX_CHARACTERS = 4_000
"""Length to which a message is cut: the request usually comes first."""
MAX_SECONDS = 5.0
"""Maximum time for the comparison, including time in the queue. One message among forty tools takes 3 ms (measured)."""
KEYWORD_ODDS, NO_KEYWORD_ODDS = 3.0, -3.0
"""The log-odds of a tool if only keywords are compared."""
KEYWORD_WORDS = 6
"""Maximum number of words of a keyword."""
FOLLOW_UP_CHARACTERS = 60
"""Maximum length of a follow-up such as "And tomorrow?"."""
SURE = 0.98
"""Probability from which a message is not a follow-up. Of 37 follow-ups in ten languages two reach it; of short
messages that start a topic, half do (measured)."""
MAX_EARLIER = 2
"""How many messages a follow-up goes back."""
FADING = 2.0
"""Log-odds that a tool loses with each message that a follow-up goes back."""

Why = Literal["keyword", "embed", "follow-up", "used", "learned"]
P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("routing")

_WORDS = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0eff]")


@dataclass(frozen=True, slots=True)
class Activated:
    """A toolkit that is shown: what found it, and the probability (0 to 1) that it is meant."""

    toolkit: str
    why: Why
    score: float


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """The activated toolkits, most probable first, and the natural log-odds of each tool by name. `fallback_reason`
    says why only words were compared; empty if vectors were compared or not needed."""

    activated: tuple[Activated, ...] = ()
    relevance: Mapping[str, float] = field(default_factory=dict)
    fallback_reason: str = ""


class ToolSelector:
    """Uses words alone until the index is built, and whenever vectors are missing, late or broken. `toolkits` returns
    the current toolkits: the same tuple until they change."""

    def __init__(
        self,
        toolkits: Callable[[], tuple[Toolkit, ...]],
        message_vectors: MessageVectors | None,
        vectors: VectorStore,
        cache: Path | None = None,
    ) -> None:
        """Without the vectors of messages only words are compared. The index is stored in the file `cache` for the next
        start, the tools' vectors in the database."""
        self._toolkits = toolkits
        self._message_vectors = message_vectors
        self._embedder = embedder = message_vectors.embedder if message_vectors is not None else None
        self._builder = IndexBuilder(embedder, vectors, cache)
        self._indexed: tuple[Toolkit, ...] | None = None
        self._last_reason = ""
        self._closed = False
        # Not the shared threads, which may all be waiting for a name server.
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="selection")

    @property
    def fallback_reason(self) -> str:
        """Why vectors are not compared now: what the index lacks, else what happened to the last message that needed
        vectors. Empty if they are compared."""
        return self._builder.latest.fallback_reason or self._last_reason

    def start(self) -> None:
        """Build the index in the background, unless it is there for the current toolkits."""
        toolkits = self._toolkits()
        if toolkits is not self._indexed and not self._closed:
            self._indexed, self._last_reason = toolkits, ""
            self._builder.build(toolkits)

    async def close(self) -> None:
        """Stop the background work. Messages are still answered with the current index."""
        self._closed = True
        await self._builder.close()
        if self._embedder is not None:
            await self._embedder.close()

    async def select(
        self, message: str, earlier: Sequence[str], used: Collection[str], toolkits: Sequence[Toolkit]
    ) -> ToolSelection:
        """What a message in its conversation is about among `toolkits`. `earlier` are the person's last messages,
        newest first, `used` the tools that were called for them. A short message that is unclear by itself also
        activates the toolkits of the messages before it; toolkits in use stay."""
        offered = {toolkit.name: toolkit for toolkit in toolkits}
        among = frozenset(offered)
        own = latest = await self.match(message, among)
        found = {each.toolkit: each for each in own.activated}
        relevance = dict(own.relevance)
        for back, before in enumerate(earlier[:MAX_EARLIER], 1):
            if not _is_follow_up(message, latest):
                break
            message, latest = before, await self.match(before, among)
            for each in latest.activated:
                if each.toolkit not in found:
                    found[each.toolkit] = replace(each, why="follow-up")
                    for card in offered[each.toolkit].tools:
                        faded = latest.relevance.get(card.name, 0.0) - back * FADING
                        relevance[card.name] = max(relevance.get(card.name, faded), faded)
        for toolkit in toolkits:
            called = [card.name for card in toolkit.tools if card.name in used]
            if called and toolkit.name not in found and not toolkit.base:
                found[toolkit.name] = Activated(toolkit.name, "used", 1.0)
            for name in called:
                relevance[name] = max(relevance.get(name, 0.0), 0.0)
        return ToolSelection(tuple(found.values()), relevance, own.fallback_reason)

    async def most_shown(self, toolkits: int) -> int:
        """How many of these many toolkits the selection activates at most for a message without clauses."""
        return await self._in_thread(_most_shown, toolkits)

    async def match(self, message: str, among: frozenset[str] | None = None) -> ToolSelection:
        """What a message alone is about, among the toolkits in `among`. Never fails, and takes at most MAX_SECONDS plus
        the wait for vectors. A message without letters and digits is about nothing."""
        message = message[:MAX_CHARACTERS]
        if not any(map(str.isalnum, message)):
            return ToolSelection()
        self.start()
        if not self._builder.ready.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._builder.ready.wait(), INDEX_WAIT_SECONDS)
        index = self._builder.latest
        if index.catalogue is None:
            return self._by_keyword(message, among, index.fallback_reason)
        cached: Mapping[object, ToolSelection] = index.selections
        if (message, among) in cached:
            return cached[message, among]
        with ErrorBoundary(log, "[Embeddings] A selection failed"):
            try:
                wait = self._message_vectors.wait_seconds if self._message_vectors is not None else 0.0
                async with asyncio.timeout(MAX_SECONDS + wait):
                    found = await self._ranked(index.catalogue, message, among, index.fallback_reason)
            except TimeoutError:
                self._last_reason = BUSY
                return self._by_keyword(message, among, BUSY)
            found = self._with_unindexed(index, message, among, found)
            if not found.fallback_reason:
                index.selections[message, among] = found
            return found
        self._last_reason = FAILED
        return self._by_keyword(message, among, FAILED)

    async def _ranked(
        self, catalogue: Catalogue, message: str, among: frozenset[str] | None, reason: str
    ) -> ToolSelection:
        clauses, texts, decision = await self._in_thread(self._first_stage, catalogue, message, among)
        failure, named = "", frozenset[str]()
        if decision is None:  # the vectors take time
            texts, named = self._unnamed(catalogue, clauses, among)
            assert self._message_vectors is not None
            vectors, failure = await self._message_vectors.of(texts)
            if vectors and not catalogue.accepts(vectors):
                vectors, failure, self._indexed = {}, MODEL_CHANGED, None  # the next message builds the index again
                self._message_vectors.forget()
            decision = await self._in_thread(catalogue.ranker.decide, clauses, vectors, among)
        if texts:
            self._last_reason = failure
        found = {each.name: Activated(each.name, each.stage, each.probability) for each in decision.chosen}
        activated = tuple(({name: Activated(name, "keyword", 1.0) for name in named} | found).values())
        relevance = dict(zip(catalogue.tools, decision.odds.tolist(), strict=True))
        return ToolSelection(activated, relevance, reason or failure)

    def _unnamed(
        self, catalogue: Catalogue, clauses: Sequence[Clause], among: frozenset[str] | None
    ) -> tuple[tuple[str, ...], frozenset[str]]:
        """The texts to embed, and the toolkits named by keyword: a clause with keywords of exactly one toolkit is about
        that. Base toolkits don't count."""
        toolkits = [each for each in self._toolkits() if not each.base and (among is None or each.name in among)]
        named = [[each.name for each in with_keyword(toolkits, clause.text)] for clause in clauses]
        unnamed = [clause for clause, names in zip(clauses, named, strict=True) if len(names) != 1]
        return catalogue.ranker.open(unnamed), frozenset(names[0] for names in named if len(names) == 1)

    def _first_stage(
        self, catalogue: Catalogue, message: str, among: frozenset[str] | None
    ) -> tuple[tuple[Clause, ...], tuple[str, ...], Decision | None]:
        """The clauses, the texts to embed, and the decision unless vectors must be waited for."""
        ranker = catalogue.ranker
        clauses = ranker.clauses(message)
        texts = ranker.open(clauses)
        if not texts or self._embedder is None:
            return clauses, texts, ranker.decide(clauses, {}, among)
        rows = self._embedder.at_once(texts)
        if rows is None:
            return clauses, texts, None
        return clauses, texts, ranker.decide(clauses, dict(zip(texts, rows, strict=True)), among)

    def _with_unindexed(
        self, index: Index, message: str, among: frozenset[str] | None, found: ToolSelection
    ) -> ToolSelection:
        """Adds the toolkits that are not in the index yet, by keyword."""
        toolkits = self._toolkits()
        if toolkits is index.toolkits:
            return found
        indexed = {id(each) for each in index.toolkits}
        new = self._by_keyword(message, among, "", [each for each in toolkits if id(each) not in indexed])
        activated = {each.toolkit: each for each in (*new.activated, *found.activated)}
        return ToolSelection(tuple(activated.values()), {**found.relevance, **new.relevance}, found.fallback_reason)

    def _by_keyword(
        self, message: str, among: frozenset[str] | None, reason: str, of: Sequence[Toolkit] | None = None
    ) -> ToolSelection:
        """By keywords alone, among all toolkits or those in `of`."""
        toolkits = [each for each in (self._toolkits() if of is None else of) if among is None or each.name in among]
        activated = by_keyword(toolkits, message)
        names = {each.toolkit for each in activated}
        odds = (
            (card.name, KEYWORD_ODDS if each.name in names else NO_KEYWORD_ODDS)
            for each in toolkits
            for card in each.tools
        )
        return ToolSelection(activated, dict(odds), reason)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))


def _most_shown(toolkits: int) -> int:
    from routing.tools.selection.fusion import POLICY

    return POLICY.most_shown(toolkits)


def by_keyword(toolkits: Sequence[Toolkit], message: str) -> tuple[Activated, ...]:
    """The toolkits with a keyword in the message."""
    return tuple(Activated(each.name, "keyword", 1.0) for each in with_keyword(toolkits, message))


def with_keyword(toolkits: Sequence[Toolkit], message: str) -> Iterator[Toolkit]:
    """The toolkits with a keyword in the message, as whole words, or anywhere in a script without spaces."""
    folded = message[:MAX_CHARACTERS].casefold()
    words = _WORDS.findall(folded)
    phrases = {" ".join(words[at : at + size]) for size in range(1, KEYWORD_WORDS + 1) for at in range(len(words))}
    unspaced = _UNSPACED.search(folded) is not None
    for toolkit in toolkits:
        spaced_keywords, unspaced_keywords = _keywords(toolkit.keywords)
        if not spaced_keywords.isdisjoint(phrases) or (unspaced and any(each in folded for each in unspaced_keywords)):
            yield toolkit


@lru_cache(maxsize=1_000)
def _keywords(keywords: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Normalised keywords: those with words and single spaces, and those in a script without spaces."""
    folded = [each.casefold() for each in keywords]
    words = frozenset(" ".join(_WORDS.findall(each)) for each in folded if not _UNSPACED.search(each))
    return words - {""}, tuple(each for each in folded if _UNSPACED.search(each))


def _is_follow_up(message: str, found: ToolSelection) -> bool:
    return len(message) <= FOLLOW_UP_CHARACTERS and not any(each.score >= SURE for each in found.activated)
