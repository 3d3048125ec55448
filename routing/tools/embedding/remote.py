"""Vectors from a provider or a self-hosted server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from routing.errors import PROGRAM_ENDING, EmbedderFailed, ModelError, RateLimited, Reason
from routing.health.cooldown import MAX_WAIT_SECONDS
from routing.policy.failover import PAUSE_SECONDS
from routing.ports import EmbeddingModel
from routing.tools.embedding.texts import FEW_TEXTS, answered
from routing.types.llm import ProviderProfile
from routing.types.vectors import Floats, Vectors

_BATCH = 64
"""Texts per request: what every provider accepts."""
_AT_ONCE = 2
"""Concurrent requests of bulk work. Messages don't wait for them."""


class RemoteEmbedder:
    """Implements `Embedder`. `profile` is called for each request, so that a changed key is used."""

    def __init__(
        self,
        model: str,
        client: EmbeddingModel,
        profile: Callable[[str], ProviderProfile],
        retry_seconds: tuple[float, float] = PAUSE_SECONDS,
    ) -> None:
        self.name = f"litellm:{model}"
        self._model = model
        self._client = client
        self._profile = profile
        self._retry_seconds = retry_seconds
        self._bulk = asyncio.Semaphore(_AT_ONCE)
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Floats:
        """See the port. A retryable error is retried once."""
        return await answered(texts, self._ask)

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """Always None: vectors come from a server."""
        return None

    async def close(self) -> None:
        """Refuse further calls. The client owns the connections."""
        self._closed = True

    async def _ask(self, texts: Sequence[str]) -> Floats:
        from routing.tools.embedding.rows import joined

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
            raise EmbedderFailed("{model} answered with vectors of different lengths", model=self._model) from error

    async def _in_turn(self, texts: Sequence[str]) -> Floats:
        async with self._bulk:
            return await self._batch(texts)

    async def _batch(self, texts: Sequence[str]) -> Floats:
        from routing.tools.embedding.rows import listed, unit

        vectors = await self._tries(texts)
        if len({len(vector) for vector in vectors}) > 1:
            raise EmbedderFailed("{model} answered with vectors of different lengths", model=self._model)
        try:
            return unit(listed(vectors), len(texts))
        except (TypeError, ValueError, OverflowError) as error:
            raise EmbedderFailed("{model} answered with {error}", model=self._model, error=error) from error

    async def _tries(self, texts: Sequence[str]) -> Vectors:
        if self._closed:
            raise EmbedderFailed("{model}: {reason}", model=self._model, reason=PROGRAM_ENDING)
        profile = self._profile(self._model.partition("/")[0])
        try:
            try:
                return await self._client.embed(self._model, profile, texts)
            except ModelError as error:
                if not error.retryable or not await self._pause(error):
                    raise
            return await self._client.embed(self._model, profile, texts)
        except ModelError as error:
            raise EmbedderFailed(
                "{model}: {reason}", model=error.model, reason=error.raw or Reason(error.reason)
            ) from error

    async def _pause(self, error: ModelError) -> bool:
        """Wait before the retry; False if the provider asks for a longer wait."""
        asked = error.retry_after
        if (asked is None and isinstance(error, RateLimited)) or (asked or 0) > MAX_WAIT_SECONDS:
            return False
        usual = 0.0 if isinstance(error, RateLimited) else random.uniform(*self._retry_seconds)
        await asyncio.sleep(max(asked or 0.0, usual))
        return True
