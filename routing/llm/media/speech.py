"""Speaks texts within the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from routing.errors import EmptyAnswer, Reason
from routing.llm.media.audio import SoundFormat, seconds_of, sound_format
from routing.llm.media.caller import MediaCaller
from routing.ports import LocalMedia, MediaLlm, MediaPrices
from routing.types.llm import ProviderProfile
from routing.types.model_names import LOCAL_PROVIDER
from routing.types.usage import CallRecord, TurnCost

MAX_BYTES = 20 * 2**20


@dataclass(frozen=True, slots=True)
class Spoken:
    """A spoken text, and the call that has to be stored."""

    data: bytes
    format: SoundFormat
    call: CallRecord


class Speaker:
    """Speaks with the first model that can. `voice` returns the name of the voice for providers."""

    def __init__(self, llm: MediaLlm, local: LocalMedia, caller: MediaCaller, voice: Callable[[], str]) -> None:
        self._llm = llm
        self._local = local
        self._caller = caller
        self._voice = voice

    async def order(self, language: str = "") -> tuple[str, ...]:
        """The models to try, in order; voices of this machine that speak the language first. Empty if speaking is
        off."""
        found = await self._caller.media.order("audio_speech")
        local = [each for each in found if each.startswith(f"{LOCAL_PROVIDER}/")]
        local.sort(key=lambda each: not each.startswith(f"{LOCAL_PROVIDER}/{language or 'en'}"))
        return (*(each for each in found if each not in local), *local)

    async def speak(self, text: str, language: str, cost: TurnCost) -> Spoken:
        """Speak a text. Raises ModelError, including BudgetExceeded."""

        async def ask(model: str, profile: ProviderProfile) -> bytes:
            if profile.name == LOCAL_PROVIDER:
                data = await self._local.speak(model, text)
            else:
                data = await self._llm.speak(model, profile, text, self._voice())
            if sound_format(data) is None or len(data) > MAX_BYTES:
                raise EmptyAnswer(model, Reason("its answer can't be read"))
            return data

        def price(prices: MediaPrices, model: str, data: bytes | None) -> Decimal | None:
            return prices.speech(model, len(text), None if data is None else seconds_of(data))

        data, call = await self._caller.first("speech", await self.order(language), ask, price, cost)
        found = sound_format(data)
        assert found is not None
        return Spoken(data, found, call)
