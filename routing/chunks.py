"""LiteLLM's stream as our events, with the truth about how it ended.

The library's wrapper makes up a `stop` when the provider sent no reason, and costs 7 ms of CPU for ten chunks where
OpenAI's client inside it costs 3 and JSON costs 0.1 (measured, 2 cores; that client also closes the connection after
each answer). So the wire is read where it carries OpenAI's own chunks; elsewhere the wrapper is read up to its last
chunk, and what it does after that (a second assembly, a deep copy, callbacks) is left out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

from routing.calls import Finish, StreamEvent, TextDelta, ThinkingDelta

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "policy"}
_CHUNKS_OF_ITS_OWN = frozenset({"openai", "custom_openai", "groq", "deepseek", "xai", "openrouter", "hosted_vllm"})
"""Providers whose inner stream is the OpenAI client's."""
_DRAIN_SECONDS = 0.1
"""How long to wait for the end of a body whose last event has come; only then its connection serves again."""


class BrokenStream(Exception):
    """The provider reported an error in the middle of its answer; `message` is what it said."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.message = str(error.get("message") or "") if isinstance(error, dict) else str(error)


class Reader:
    """Iterate for the events; then `finish` says how it ended and `usage` holds the provider's count, if it came."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.finish: Finish = "cut"
        self.usage: Any = None

    def _ended(self, reason: str | None) -> None:
        if reason is not None:
            self.finish = _FINISHES.get(reason, "stop")


class RawReader(Reader):
    """OpenAI's chunks as they come from the wire; `usage` is the JSON object."""

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        events = _server_sent(self._stream.completion_stream.response.aiter_bytes())
        async for data in events:
            if data == b"[DONE]":
                await _drain(events)
                return
            chunk = json.loads(data)
            if chunk.get("error"):
                raise BrokenStream(chunk["error"])
            self.usage = chunk.get("usage") or self.usage
            for choice in chunk.get("choices") or ():
                delta = choice.get("delta") or {}
                if delta.get("content"):
                    yield TextDelta(delta["content"])
                elif delta.get("reasoning_content"):
                    yield ThinkingDelta()
                self._ended(choice.get("finish_reason"))


class WrappedReader(Reader):
    """The library's own chunks."""

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        said = _gemini_reasons(self._stream)
        async for chunk in self._stream:
            for choice in chunk.choices:
                for event in _deltas(choice.delta):
                    yield event
            if self._stream.sent_last_chunk:
                break
        seen = (getattr(chunk, "usage", None) for chunk in reversed(self._stream.chunks))
        self.usage = next((usage for usage in seen if usage), None)
        self._ended(said() if said else self._stream.received_finish_reason)


def reader(stream: Any) -> RawReader | WrappedReader:
    """The reader for what `acompletion(stream=True)` gave."""
    raw = stream.custom_llm_provider in _CHUNKS_OF_ITS_OWN and type(stream.completion_stream).__name__ == "AsyncStream"
    return RawReader(stream) if raw else WrappedReader(stream)


async def _server_sent(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event; one that is cut off is left out."""
    rest = b""
    data: list[bytes] = []
    async for piece in body:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif data and not line.strip():
                yield b"\n".join(data)
                data = []


async def _drain(events: AsyncIterator[bytes]) -> None:
    """Read what is left of a complete answer, which no fault can harm any more."""
    with suppress(Exception):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass


def _deltas(delta: Any) -> Iterable[StreamEvent]:
    if delta.content:
        yield TextDelta(delta.content)
    elif getattr(delta, "reasoning_content", None):
        yield ThinkingDelta()


def _gemini_reasons(stream: Any) -> Callable[[], str | None] | None:
    """For Gemini the library forgets the reason and invents `stop`; listen to the chunks before it does.

    None for other providers.
    """
    make = getattr(stream, "make_call", None)
    if make is None or stream.custom_llm_provider not in ("gemini", "vertex_ai", "vertex_ai_beta"):
        return None
    reasons: list[str] = []

    async def listening(client: Any) -> Any:
        inner = await make(client=client)
        parse = inner.chunk_parser

        def parse_and_note(chunk: Any) -> Any:
            candidates = chunk.get("candidates") or () if isinstance(chunk, dict) else ()
            reasons.extend(each["finishReason"] for each in candidates if each.get("finishReason"))
            return parse(chunk)

        inner.chunk_parser = parse_and_note
        return inner

    stream.make_call = listening
    return lambda: _GEMINI_FINISHES.get(reasons[-1], "stop") if reasons else None


_GEMINI_FINISHES = {"MAX_TOKENS": "length", "SAFETY": "content_filter", "PROHIBITED_CONTENT": "content_filter"}
