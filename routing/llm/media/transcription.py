"""Transcribes voice messages within the budget."""

from __future__ import annotations

from decimal import Decimal

from routing.errors import Refused
from routing.llm.media.audio import seconds_of
from routing.llm.media.caller import MediaCaller
from routing.ports import LocalMedia, MediaLlm, MediaPrices
from routing.types.llm import ProviderProfile, Recording, Transcript
from routing.types.model_names import LOCAL_PROVIDER
from routing.types.usage import TurnCost

MAX_BYTES = 20 * 1024 * 1024
"""Most that Telegram hands out; OpenAI and Groq take 25 MB."""
MAX_SECONDS = 20 * 60
"""OpenAI's newer models take 1,500 seconds."""


class Transcriber:
    """Transcribes with the first model that can."""

    def __init__(self, llm: MediaLlm, local: LocalMedia, caller: MediaCaller) -> None:
        self._llm = llm
        self._local = local
        self._caller = caller

    async def order(self) -> tuple[str, ...]:
        """The models to try, in order; empty if transcription is off."""
        return await self._caller.media.order("audio_transcription")

    async def transcribe(self, recording: Recording, cost: TurnCost, conversation_id: int) -> str:
        """Transcribe a recording. Raises Refused for one that is too long or without words, and ModelError, including
        BudgetExceeded."""
        check_size(len(recording.data))
        seconds = seconds_of(recording.data)
        if seconds > MAX_SECONDS:
            words = "Your voice message is too long: about {minutes} minutes, at most {most}. Please send it in parts."
            raise Refused(words, minutes=-(-seconds // 60), most=MAX_SECONDS // 60)

        async def ask(model: str, profile: ProviderProfile) -> Transcript:
            if profile.name == LOCAL_PROVIDER:
                return await self._local.transcribe(model, recording)
            return await self._llm.transcribe(model, profile, recording)

        def price(prices: MediaPrices, model: str, transcript: Transcript | None) -> Decimal | None:
            each = prices.per_second(model)
            counted = transcript.seconds if transcript is not None else None
            return None if each is None else each * Decimal(str(counted or seconds))

        order = await self.order()
        transcript = await self._caller.first_stored("voice", order, ask, price, cost, conversation_id)
        if not transcript.text:
            raise Refused("I heard no words in your voice message. Send it again, or type it.")
        return transcript.text


def check_size(size: int) -> None:
    """Raises Refused for a recording of more than MAX_BYTES."""
    if size > MAX_BYTES:
        words = "Your voice message is too large: {megabytes} MB, at most {most} MB. Please send it in parts."
        raise Refused(words, megabytes=-(-size // 2**20), most=MAX_BYTES // 2**20)
