"""Calls embedding models through LiteLLM."""

from __future__ import annotations

import base64
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from routing.llm.error_mapping import response_errors, time_limit
from routing.types.llm import ProviderProfile
from routing.types.vectors import Vectors

_FOR_ANSWERS = "_skip_responses_api_bridge"
"""Only LiteLLM's chat completions know this option; an embedding call would send it to the provider."""
_OPENAI = "openai/"
"""OpenAI-compatible endpoints return vectors as base64 on request. As lists of numbers, 64 vectors of 1,536 values
block the event loop for a quarter of a second, mostly in OpenAI's client; base64 takes a tenth (measured on 2
cores)."""
_REFUSALS = (400, 422)
_NAMED = re.compile("encoding.?format|base64", re.IGNORECASE)
"""How servers that don't support base64 name it in their error."""


async def ask(
    litellm: ModuleType, where: Mapping[str, Any], model: str, profile: ProviderProfile, texts: Sequence[str]
) -> Vectors:
    """Return the vectors in the order of the texts. Enforces the provider's time limit here, because LiteLLM ignores it
    for Ollama. Raises ModelError."""
    request = {name: value for name, value in where.items() if name != _FOR_ANSWERS}
    request |= {"input": list(texts), "timeout": profile.timeout_seconds, "max_retries": 0}
    async with time_limit(model, profile, texts):
        answer = await _answer(litellm, request)
        return _in_order(answer.data)


async def _answer(litellm: ModuleType, request: Mapping[str, Any]) -> Any:
    if request["model"].startswith(_OPENAI):
        # With an explicit base64 format OpenAI's client leaves the vectors undecoded, and pydantic warns on stderr.
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
        try:
            return await litellm.aembedding(**request, encoding_format="base64")
        except response_errors(litellm) as error:
            if getattr(error, "status_code", None) not in _REFUSALS or not _NAMED.search(str(error)):
                raise
    return await litellm.aembedding(**request)


def _in_order(rows: Sequence[Any]) -> Vectors:
    """Sort the rows by index; without indexes they are in order already."""
    found = [row if isinstance(row, Mapping) else row.model_dump() for row in rows]
    if all(isinstance(row.get("index"), int) for row in found):
        found.sort(key=lambda row: int(row["index"]))
    return tuple([_numbers(row["embedding"]) for row in found])


def _numbers(vector: Any) -> tuple[float, ...]:
    """Decode a vector: a list of numbers, or little-endian float32 in base64."""
    if not isinstance(vector, str):
        return tuple(vector)
    data = base64.b64decode(vector)
    return struct.unpack(f"<{len(data) // 4}f", data)
