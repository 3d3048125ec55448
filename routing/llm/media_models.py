"""Chooses the models that hear and speak."""

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

    async def order(self, kind: MediaKind) -> tuple[str, ...]:
        """The models to try, in order: the owner's, else those of providers with a key, then those of this machine.
        Empty if there are none."""
        chosen = self._setting(kind).strip()
        if chosen:
            return () if chosen.lower() == OFF else parse_pool(chosen)
        offered = await self._llm.offered(kind, PREFERRED[kind])
        with_key = [each for each in offered if self._models.config.profile(provider_of(each)).api_key is not None]
        first = {provider_of(each): each for each in reversed(with_key)}
        remote = [each for each in with_key if first[provider_of(each)] == each]
        return (*remote, *await asyncio.to_thread(self._local.available, kind))
