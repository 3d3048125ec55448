"""Chooses the models for transcription, speech and images."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from routing.config.runtime import parse_pool
from routing.policy.models import Models
from routing.ports import LocalMedia, MediaKind, MediaLlm
from routing.types.model_names import provider_of

OFF = "off"
"""The setting that switches a kind of media off."""
PREFERRED: Mapping[MediaKind, tuple[str, ...]] = {
    "audio_transcription": (
        "openai/gpt-4o-mini-transcribe",
        "openai/gpt-transcribe",
        "groq/whisper-large-v3-turbo",
        "mistral/voxtral-mini-latest",
        "deepgram/nova-3",
        "elevenlabs/scribe_v1",
        "xai/grok-voice-transcribe-2.0",
    ),
    "image_generation": (
        "openai/gpt-image-2.5-flare",
        "openai/gpt-image-2",
        "gemini/gemini-3.1-flash-image",
        "gemini/gemini-2.5-flash-image",
        "xai/grok-imagine-image",
        "recraft/recraftv3",
    ),
    "audio_speech": ("openai/gpt-4o-mini-tts", "openai/tts-1", "elevenlabs/eleven_multilingual_v2"),
}
"""In order of preference; of each provider, the first one that it still offers."""


class MediaModels:
    """`setting` returns the owner's choice: models in order, `off`, or empty for automatic."""

    def __init__(self, llm: MediaLlm, models: Models, local: LocalMedia, setting: Callable[[MediaKind], str]) -> None:
        self._llm = llm
        self._models = models
        self._local = local
        self._setting = setting

    def is_possible(self, kind: MediaKind) -> bool:
        """Whether `order` may find a model of a provider. Returns at once, also while LiteLLM is loading."""
        chosen = self._setting(kind).strip()
        if chosen:
            return chosen.lower() != OFF
        return any(self._has_key(each) for each in PREFERRED[kind])

    async def order(self, kind: MediaKind) -> tuple[str, ...]:
        """The models to try, in order: the owner's, else those of providers with a key, then those of this machine.
        Empty if there are none."""
        chosen = self._setting(kind).strip()
        if chosen:
            return () if chosen.lower() == OFF else parse_pool(chosen)
        offered = await self._llm.offered(kind, PREFERRED[kind])
        with_key = [each for each in offered if self._has_key(each)]
        first = {provider_of(each): each for each in reversed(with_key)}
        remote = [each for each in with_key if first[provider_of(each)] == each]
        return (*remote, *await asyncio.to_thread(self._local.available, kind))

    def _has_key(self, model: str) -> bool:
        return self._models.config.profile(provider_of(model)).api_key is not None
