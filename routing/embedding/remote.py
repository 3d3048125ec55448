"""Vectors from a provider, or from a server of one's own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from routing.calls import ProviderProfile
from routing.door.embeddings import Vectors
from routing.embedding.embedder import FEW_TEXTS, EmbedderFailed
from routing.embedding.texts import answered
from routing.errors import ModelError, RateLimited
from routing.failover.step import LONGEST_WAIT_SECONDS, PAUSE_SECONDS

if TYPE_CHECKING:
    from routing.selection.lexical import Floats

_BATCH = 64
"""Texts a request: what every provider takes."""
_AT_ONCE = 2
"""Requests of bulk under way. A message's own request waits for none of them."""


class EmbeddingModel(Protocol):
    """The door to every model, as far as vectors are concerned."""

    async def embed(self, model: str, profile: ProviderProfile, texts: Sequence[str]) -> Vectors:
        """What the provider makes of the texts, in their order; none of them is blank. Raises ModelError."""


class RemoteEmbedder:
    """`Embedder`. `profile` tells at each call how a provider is reached, so that a changed key counts."""

    def __init__(
        self,
        model: str,
        door: EmbeddingModel,
        profile: Callable[[str], ProviderProfile],
        second_try: tuple[float, float] = PAUSE_SECONDS,
    ) -> None:
        self.name = f"litellm:{model}"
        self._model = model
        self._door = door
        self._profile = profile
        self._second_try = second_try
        self._bulk = asyncio.Semaphore(_AT_ONCE)
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Floats:
        """As the port says. What could be tried again is, once."""
        return await answered(texts, self._ask)

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """Never."""
        return None

    async def close(self) -> None:
        """Connections belong to the door."""
        self._closed = True

    async def _ask(self, texts: Sequence[str]) -> Floats:
        from routing.embedding.rows import joined

        if len(texts) <= FEW_TEXTS:
            return await self._batch(texts)
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._in_turn(batch)) for batch in batches]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        try:
            return joined([task.result() for task in tasks])
        except ValueError as error:
            raise EmbedderFailed(f"{self._model} answered with vectors of different lengths") from error

    async def _in_turn(self, texts: Sequence[str]) -> Floats:
        async with self._bulk:
            return await self._batch(texts)

    async def _batch(self, texts: Sequence[str]) -> Floats:
        from routing.embedding.rows import listed, unit

        vectors = await self._tries(texts)
        if len({len(vector) for vector in vectors}) > 1:
            raise EmbedderFailed(f"{self._model} answered with vectors of different lengths")
        try:
            return unit(listed(vectors), len(texts))
        except (TypeError, ValueError, OverflowError) as error:
            raise EmbedderFailed(f"{self._model} answered with {error}") from error

    async def _tries(self, texts: Sequence[str]) -> Vectors:
        if self._closed:
            raise EmbedderFailed(f"{self._model}: the program is ending")
        profile = self._profile(self._model.partition("/")[0])
        try:
            try:
                return await self._door.embed(self._model, profile, texts)
            except ModelError as error:
                if not error.retryable or not await self._pause(error):
                    raise
            return await self._door.embed(self._model, profile, texts)
        except ModelError as error:
            raise EmbedderFailed(str(error)) from error

    async def _pause(self, error: ModelError) -> bool:
        """Wait before the second try, as for an answer; False where the provider asks for more patience."""
        asked = error.retry_after
        if (asked is None and isinstance(error, RateLimited)) or (asked or 0) > LONGEST_WAIT_SECONDS:
            return False
        usual = 0.0 if isinstance(error, RateLimited) else random.uniform(*self._second_try)
        await asyncio.sleep(max(asked or 0.0, usual))
        return True
