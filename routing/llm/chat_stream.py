"""LiteLLM's stream as our events, with the truth about how it ended.

The library's wrapper makes up a `stop` when the provider sent no reason, and costs 7 ms of CPU for ten chunks where
OpenAI's client inside it costs 3 and JSON costs 0.1 (measured, 2 cores; that client also closes the connection after
each answer). So the wire is read where it carries OpenAI's own chunks; elsewhere the wrapper is read up to its last
chunk, and what it does after that (a second assembly, a deep copy, callbacks) is left out.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from routing.llm.responses_stream import ResponsesReader
from routing.llm.stream_parser import BrokenStream, Reader, drain, server_sent
from routing.types.llm import CallDelta, StreamEvent, TextDelta, ThinkingDelta

_CHUNKS_OF_ITS_OWN = frozenset({"openai", "custom_openai", "groq", "deepseek", "xai", "openrouter", "hosted_vllm"})
"""Providers whose inner stream is the OpenAI client's."""
_GEMINI = ("gemini", "vertex_ai", "vertex_ai_beta")


class RawReader(Reader):
    """OpenAI's chunks as they come from the wire; `usage` is the JSON object."""

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        events = server_sent(self._stream.completion_stream.response.aiter_bytes())
        async for data in events:
            if data == b"[DONE]":
                await drain(events)
                return
            chunk = json.loads(data)
            if chunk.get("error"):
                raise BrokenStream(chunk["error"])
            self.usage = chunk.get("usage") or self.usage
            for choice in chunk.get("choices") or ():
                delta = choice.get("delta") or {}
                if delta.get("content"):
                    yield TextDelta(delta["content"])
                elif self._thought(delta):
                    yield ThinkingDelta()
                for piece in delta.get("tool_calls") or ():
                    self._assembly.add(piece)
                    yield CallDelta()
                self._ended(choice.get("finish_reason"))

    def _thought(self, delta: dict[str, Any]) -> bool:
        """Whether the delta holds thinking; what its provider wants back is kept."""
        for detail in delta.get("reasoning_details") or ():
            self._thoughts.add(detail)
        if text := delta.get("reasoning_content"):
            self._thoughts.words(text)
        return bool(text or delta.get("reasoning") or delta.get("reasoning_details"))


class WrappedReader(Reader):
    """The library's own chunks."""

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        said = _gemini_reasons(self._stream)
        async for chunk in self._stream:
            for choice in chunk.choices:
                for event in self._deltas(choice.delta):
                    yield event
            if self._stream.sent_last_chunk:
                break
        seen = (getattr(chunk, "usage", None) for chunk in reversed(self._stream.chunks))
        self.usage = next((usage for usage in seen if usage), None)
        self._ended(said() if said else self._stream.received_finish_reason)

    def _deltas(self, delta: Any) -> Iterable[StreamEvent]:
        thought = getattr(delta, "reasoning_content", None)
        blocks = getattr(delta, "thinking_blocks", None)
        for block in blocks or ():
            self._thoughts.add(block)
        if thought and not blocks and self._stream.custom_llm_provider not in _GEMINI:
            self._thoughts.words(thought)
        for call in delta.tool_calls or ():
            self._assembly.add(call.model_dump())
            yield CallDelta()
        if delta.content:
            yield TextDelta(delta.content)
        elif thought or blocks:
            yield ThinkingDelta()


def reader(stream: Any) -> RawReader | ResponsesReader | WrappedReader:
    """The reader for what `acompletion(stream=True)` gave."""
    inner = stream.completion_stream
    bridged: Any = getattr(inner, "streaming_response", None)
    if type(bridged).__name__ == "ResponsesAPIStreamingIterator":
        return ResponsesReader(bridged.response)
    raw = stream.custom_llm_provider in _CHUNKS_OF_ITS_OWN and type(inner).__name__ == "AsyncStream"
    return RawReader(stream) if raw else WrappedReader(stream)


def _gemini_reasons(stream: Any) -> Callable[[], str | None] | None:
    """For Gemini the library forgets the reason and invents `stop`; listen to the chunks before it does.

    None for other providers.
    """
    make = getattr(stream, "make_call", None)
    if make is None or stream.custom_llm_provider not in _GEMINI:
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


_GEMINI_FINISHES = {
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    **dict.fromkeys(("BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY"), "content_filter"),
}
