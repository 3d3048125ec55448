"""Vectors of texts: what goes to LiteLLM, and what comes back."""

from __future__ import annotations

import asyncio
import base64
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from routing.errors import Reason, Unreachable
from routing.llm.error_mapping import explain
from routing.types.llm import ProviderProfile
from routing.types.vectors import Vectors

_FOR_ANSWERS = "_skip_responses_api_bridge"
"""Means something to LiteLLM's completions only; among vectors it would go over the wire."""
_OPENAI = "openai/"
"""OpenAI's wire carries vectors as base64, if asked to. As lists of numbers, 64 of them (1,536 wide) block the event
loop for a quarter of a second, most of it in OpenAI's client; so they take a tenth of that (measured, 2 cores)."""
_REFUSALS = (400, 422)
_NAMED = re.compile("encoding.?format|base64", re.IGNORECASE)
"""In the words of a server that does not know it."""


async def ask(
    litellm: ModuleType, where: Mapping[str, Any], model: str, profile: ProviderProfile, texts: Sequence[str]
) -> Vectors:
    """In the order of the texts. The provider's time-out is held here, too: the library forgets it for Ollama. Raises
    ModelError."""
    request = {name: value for name, value in where.items() if name != _FOR_ANSWERS}
    request |= {"input": list(texts), "timeout": profile.timeout_seconds, "max_retries": 0}
    try:
        async with asyncio.timeout(profile.timeout_seconds):
            answer = await _answer(litellm, request)
        return _in_order(answer.data)
    except TimeoutError as error:
        raise Unreachable(model, Reason("no answer within {seconds:g} s", seconds=profile.timeout_seconds)) from error
    except Exception as error:  # the library raises whatever its providers' clients raise
        raise explain(error, model, profile) from error


async def _answer(litellm: ModuleType, request: Mapping[str, Any]) -> Any:
    if request["model"].startswith(_OPENAI):
        # OpenAI's client, asked for base64 by name, leaves it undecoded and then wonders at it on standard error.
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
        try:
            return await litellm.aembedding(**request, encoding_format="base64")
        except Exception as error:  # as above; only a refusal of base64 ends here
            if getattr(error, "status_code", None) not in _REFUSALS or not _NAMED.search(str(error)):
                raise
    return await litellm.aembedding(**request)


def _in_order(rows: Sequence[Any]) -> Vectors:
    """A row says which text it is of; where one does not, they came in order."""
    found = [row if isinstance(row, Mapping) else row.model_dump() for row in rows]
    if all(isinstance(row.get("index"), int) for row in found):
        found.sort(key=lambda row: int(row["index"]))
    return tuple([_numbers(row["embedding"]) for row in found])


def _numbers(vector: Any) -> tuple[float, ...]:
    """The numbers themselves, or float32 in base64, little-endian."""
    if not isinstance(vector, str):
        return tuple(vector)
    data = base64.b64decode(vector)
    return struct.unpack(f"<{len(data) // 4}f", data)
