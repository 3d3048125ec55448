"""Vectors of texts: OpenAI's /embeddings, and Ollama's /api/embed."""

from __future__ import annotations

import array
import base64
import hashlib
from collections.abc import Sequence
from typing import Any, Final

from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script

WIDTH: Final = 8


def texts_of(request: ModelRequest) -> list[str]:
    """The texts to embed."""
    given = request.body.get("input")
    return [given] if isinstance(given, str) else list(given or ())


def vector(text: str) -> tuple[float, ...]:
    """A vector that depends only on the text."""
    return tuple(byte / 128 - 1 for byte in hashlib.sha256(text.encode()).digest()[:WIDTH])


def whole(script: Script, request: ModelRequest) -> dict[str, Any]:
    """The script's vectors, else one for each text."""
    rows = script.vectors if script.vectors is not None else [vector(text) for text in texts_of(request)]
    tokens = max(1, len(request.raw) // 4)
    if request.endpoint == "embed":
        return {"model": request.model, "embeddings": rows, "total_duration": 1_000_000, "prompt_eval_count": tokens}
    form = _base64 if request.body.get("encoding_format") == "base64" else list
    data = [{"object": "embedding", "index": at, "embedding": form(row)} for at, row in enumerate(rows)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": request.model, "usage": usage}


def _base64(row: Sequence[float]) -> str:
    return base64.b64encode(array.array("f", row).tobytes()).decode()
