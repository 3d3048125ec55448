"""A model behind any OpenAI-compatible URL with native tool calling: one request at a time, temperature 0."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.bench_tools.strategies import definitions
from routing.tools.presentation import Shown

TIMEOUT_SECONDS = 300.0
WAITS = (2.0, 10.0, 30.0)
"""Seconds before each retry of a temporary error."""
AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
MAX_CHARACTERS = 300


class Unanswered(Exception):
    """The endpoint can't be reached or does not answer in OpenAI's format; contains its answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The first tool called, or None; and the provider's count of prompt tokens."""

    called: str | None
    tokens: int | None
    seconds: float


class Endpoint:
    """`url` may leave out the usual `/v1`."""

    def __init__(self, url: str, model: str, key: str | None = None, waits: Sequence[float] = WAITS) -> None:
        bare = url.rstrip("/")
        self._url = (bare if urlsplit(bare).path else f"{bare}/v1") + "/chat/completions"
        self._model = model
        self._waits = waits
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS)

    def ask(self, prompt: str, shown: Shown) -> Answer:
        """One prompt with the tools that are shown. Raises Unanswered."""
        began = time.perf_counter()
        document = self._answered(body(self._model, prompt, shown))
        seconds = time.perf_counter() - began
        try:
            calls = document["choices"][0]["message"].get("tool_calls") or []
            name = calls[0]["function"]["name"] if calls else None
            tokens = (document.get("usage") or {}).get("prompt_tokens")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise Unanswered(
                f"{self._url} did not answer in OpenAI's form: {str(document)[:MAX_CHARACTERS]}"
            ) from error
        return Answer(name, tokens, seconds)

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _answered(self, request: Mapping[str, Any]) -> Any:
        for wait in (*self._waits, None):
            try:
                response = self._client.post(self._url, json=request)
            except httpx.HTTPError as error:
                raise Unanswered(f"{self._url} cannot be reached: {error or type(error).__name__}") from error
            if response.status_code not in AGAIN or wait is None:
                break
            time.sleep(wait)
        if not response.is_success:
            body = " ".join(response.text.split())[:MAX_CHARACTERS]
            raise Unanswered(f"{self._url} answered {response.status_code}: {body}")
        try:
            return response.json()
        except ValueError as error:
            raise Unanswered(f"{self._url} did not answer with JSON: {response.text[:MAX_CHARACTERS]}") from error


def body(model: str, prompt: str, shown: Shown) -> dict[str, Any]:
    """The request; the sentence about the tools is the system message."""
    system = [{"role": "system", "content": shown.hint}] if shown.hint else []
    tools = {"tools": definitions(shown.specs)} if shown.specs else {}
    return {"model": model, "temperature": 0, "messages": [*system, {"role": "user", "content": prompt}], **tools}
