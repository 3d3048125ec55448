"""Calls models for transcription, speech and images through LiteLLM."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from os.path import splitext
from types import ModuleType
from typing import Any

from routing.errors import EmptyAnswer, Reason
from routing.llm.error_mapping import time_limit
from routing.ports import MediaKind
from routing.types.llm import GeneratedImage, ProviderProfile, Recording, Transcript

_FOR_ANSWERS = "_skip_responses_api_bridge"
"""Only LiteLLM's chat completions know this option; other calls would send it to the provider."""

_GPT_IMAGE = "gpt-image"
"""OpenAI's models with this name always send the picture itself."""
_MAX_ENCODED = 40 * 2**20


def offered(known: Mapping[str, Mapping[str, Any]], kind: MediaKind, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that LiteLLM's map `known` has with this mode and without a past date of retirement."""
    today = datetime.now(UTC).date().isoformat()

    def is_offered(name: str) -> bool:
        entry = known.get(name) or known.get(name.partition("/")[2], {})
        return entry.get("mode") == kind and not str(entry.get("deprecation_date") or date.max) <= today

    return tuple(filter(is_offered, names))


async def transcribe(
    litellm: ModuleType, where: Mapping[str, Any], model: str, profile: ProviderProfile, recording: Recording
) -> Transcript:
    """Raises ModelError. A recording without speech has an empty text."""
    request = _request(where, profile) | {"file": (recording.name, recording.data)}
    if recording.language:
        request["language"] = recording.language
    async with time_limit(model, profile, (splitext(recording.name)[0],)):
        response = await litellm.atranscription(**request, drop_params=True)
        text = getattr(response, "text", None)
        if not isinstance(text, str):
            raise EmptyAnswer(model, Reason("its answer can't be read"))
    counted = getattr(getattr(response, "usage", None), "seconds", None) or getattr(response, "duration", None)
    return Transcript(text.strip(), float(counted) if isinstance(counted, int | float) and counted > 0 else None)


async def speak(
    litellm: ModuleType, where: Mapping[str, Any], model: str, profile: ProviderProfile, text: str, voice: str
) -> bytes:
    """Raises ModelError."""
    request = _request(where, profile) | {"input": text, "voice": voice, "response_format": "opus"}
    async with time_limit(model, profile, (text,)):
        response = await litellm.aspeech(**request, drop_params=True)
        return bytes(response.content)


async def generate_image(
    litellm: ModuleType, where: Mapping[str, Any], model: str, profile: ProviderProfile, prompt: str
) -> GeneratedImage:
    """A square picture. Raises ModelError."""
    request = _request(where, profile) | {"prompt": prompt, "n": 1, "size": "1024x1024"}
    request |= {"quality": "medium"} if _GPT_IMAGE in model else {"response_format": "b64_json"}
    async with time_limit(model, profile, (prompt,)):
        response = await litellm.aimage_generation(**request, drop_params=True)
        found = response.data[0] if response.data else None
    encoded, usage = getattr(found, "b64_json", None), getattr(response, "usage", None)
    tokens = getattr(usage, "input_tokens", None) or None, getattr(usage, "output_tokens", None) or None
    if not encoded and isinstance(url := getattr(found, "url", None), str) and url:
        return GeneratedImage(b"", url, *tokens)
    if not encoded or len(encoded) > _MAX_ENCODED:
        raise EmptyAnswer(model, Reason("its answer can't be read"))
    try:
        data = await asyncio.to_thread(base64.b64decode, encoded)
    except ValueError:
        raise EmptyAnswer(model, Reason("its answer can't be read")) from None
    return GeneratedImage(data, "", *tokens)


def _request(where: Mapping[str, Any], profile: ProviderProfile) -> dict[str, Any]:
    request = {name: value for name, value in where.items() if name != _FOR_ANSWERS}
    return request | {"timeout": profile.timeout_seconds, "max_retries": 0}
