"""Calls models for transcription, speech and images: within the budget, and the next one if one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TypeVar

from routing.budget.guard import BudgetGuard
from routing.errors import ModelError, PolicyRefused
from routing.llm.media.models import MediaModels
from routing.policy.models import Models
from routing.ports import Clock, MediaPrices
from routing.tracing import turn_id
from routing.types.budgets import BudgetExceeded
from routing.types.history import TurnRecord
from routing.types.llm import ProviderProfile, Usage
from routing.types.model_names import provider_of
from routing.types.usage import CallRecord, Media, TurnCost

MAX_SECONDS = 180.0
"""Time limit of one call, if the provider's is longer."""

T = TypeVar("T")
Ask = Callable[[str, ProviderProfile], Awaitable[T]]
Price = Callable[[MediaPrices, str, T | None], Decimal | None]
"""The price of a call of a model in US dollars: expected (None) or with its result; None if unknown."""
Store = Callable[[TurnRecord], Awaitable[object]]
"""Stores a record, as soon as the storage works."""

log = logging.getLogger("routing.llm.media")


class MediaCaller:
    """Failures count for the models' health, like those of other calls. `media` chooses the models."""

    def __init__(
        self,
        models: Models,
        media: MediaModels,
        guard: BudgetGuard,
        prices: Callable[[], Awaitable[MediaPrices]],
        store: Store,
        clock: Clock,
    ) -> None:
        self.media = media
        self.guard = guard
        self.prices = prices
        self._models = models
        self._store = store
        self._clock = clock

    async def first(
        self, kind: Media, order: Sequence[str], ask: Ask[T], price: Price[T], cost: TurnCost
    ) -> tuple[T, CallRecord]:
        """The result of the first model in `order` that answers, and its call, which the caller has to store. Raises
        the last ModelError, or BudgetExceeded."""
        prices = await self.prices()
        for model in order[:-1]:
            try:
                return await self._one(kind, model, ask, partial(price, prices), cost)
            except (BudgetExceeded, PolicyRefused):
                raise
            except ModelError as error:
                log.info("[LLM] %s failed (%s); calling the next model", model, error.raw or error.reason)
        return await self._one(kind, order[-1], ask, partial(price, prices), cost)

    async def first_stored(
        self, kind: Media, order: Sequence[str], ask: Ask[T], price: Price[T], cost: TurnCost, conversation_id: int
    ) -> T:
        """Like `first`, but the call is stored at once and added to `cost`. So it is charged even if the process or
        the turn ends before the answer."""
        result, call = await self.first(kind, order, ask, price, cost)
        cost.calls.append(replace(call, stored=True))
        record = TurnRecord(turn_id.get(), conversation_id, cost.person_id, "", calls=(call,))
        await asyncio.shield(self._store(record))
        return result

    async def _one(
        self,
        kind: Media,
        model: str,
        ask: Ask[T],
        price: Callable[[str, T | None], Decimal | None],
        cost: TurnCost,
    ) -> tuple[T, CallRecord]:
        health, profile = self._models.health, self._models.config.profile(provider_of(model))
        limited = replace(profile, timeout_seconds=min(profile.timeout_seconds, MAX_SECONDS))
        expected = price(model, None)
        with await self.guard.hold_dollars(model, expected, cost) as held:
            async with health.parallel.slot(profile.name, cost.person_id):
                began = self._clock()
                trial = await health.begin(model, profile, probe=False)
                assert trial is not None  # only probes share the result of another
                try:
                    with trial:
                        result = await ask(model, limited)
                        trial.end()
                except ModelError as error:
                    health.record_failure(error)
                    raise
            known = price(model, result)
            usage = None if known is None else Usage(0, 0, cost=known)
            held.settle(usage)
            return result, CallRecord(
                kind, model, usage, self._clock() - began, held.dollars if usage is None else None
            )
