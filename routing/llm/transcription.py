"""Transcribes voice messages within the budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal

from routing.budget.guard import BudgetGuard
from routing.policy.models import Models
from routing.ports import AudioPrices, Clock, Ledger, Llm
from routing.types.history import TurnRecord
from routing.types.llm import Usage
from routing.types.model_names import provider_of
from routing.types.usage import VOICE, CallRecord, TurnCost

BYTES_PER_SECOND = 2_000
"""Bitrate of a voice note at 16 kbit/s, the lowest in use, so estimates tend to be too high."""


class Transcriber:
    """Transcribes audio. `model` returns the current TRANSCRIPTION_MODEL, empty if none is set."""

    def __init__(
        self,
        llm: Llm,
        models: Models,
        guard: BudgetGuard,
        prices: Callable[[], Awaitable[AudioPrices]],
        ledger: Ledger,
        model: Callable[[], str],
        clock: Clock,
    ) -> None:
        self._prices = prices
        self._llm = llm
        self._models = models
        self._guard = guard
        self._ledger = ledger
        self._model = model
        self._clock = clock

    @property
    def model(self) -> str:
        """`provider/model`, or empty if transcription is off."""
        return self._model()

    async def transcribe(self, name: str, audio: bytes, turn_cost: TurnCost, turn_id: str, conversation_id: int) -> str:
        """Transcribe the audio. The cost is recorded at once, also if the turn fails later. Raises ModelError,
        including BudgetExceeded."""
        model, began = self.model, self._clock()
        profile = self._models.config.profile(provider_of(model))
        price = (await self._prices()).per_second(model)
        estimate = None if price is None else price * (1 + len(audio) // BYTES_PER_SECOND)
        with await self._guard.hold_dollars(model, estimate, turn_cost) as held:
            transcript = await self._llm.transcribe(model, profile, name, audio)
            cost = estimate if price is None or transcript.seconds is None else price * Decimal(str(transcript.seconds))
            usage = None if cost is None else Usage(0, 0, cost=cost)
            held.settle(usage)
            charged = held.dollars if usage is None else None
            call = CallRecord(VOICE, model, usage, self._clock() - began, charged)
            await self._ledger.finish(
                (), (), TurnRecord(turn_id, conversation_id, turn_cost.person_id, "", calls=(call,))
            )
        return transcript.text
