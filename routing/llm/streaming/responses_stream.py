"""Reads OpenAI's /responses streams.

LiteLLM sends newer OpenAI models with function tools there and converts the stream to chat chunks. That takes 17 ms of
CPU for ten tools and ten chunks; reading the HTTP response takes 6 ms (measured on 2 cores).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from routing.llm.streaming.stream_parser import BrokenStream, Reader, drain, server_sent
from routing.types.llm import CallDelta, StreamEvent, TextDelta, ThinkingDelta

_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ENDS = ("response.completed", "response.incomplete")
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader(Reader):
    """`stream` is the HTTP response; `usage` uses the names of chat completions."""

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        events = server_sent(self._stream.aiter_bytes())
        async for data in events:
            event = json.loads(data)
            kind = event.get("type")
            if kind in _TEXT and event.get("delta"):
                yield TextDelta(event["delta"])
            elif kind in _THOUGHT:
                yield ThinkingDelta()
            elif kind == "response.function_call_arguments.delta":
                yield CallDelta()
            elif kind == "response.output_item.done":
                self._take(event["item"])
            elif kind in _ENDS:
                self._end(event["response"])
                await drain(events)
                return
            elif kind in ("response.failed", "error"):
                raise BrokenStream((event.get("response") or event).get("error") or event)

    def _take(self, item: dict[str, Any]) -> None:
        """Add a finished output item; calls arrive whole."""
        if item.get("type") == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            self._assembly.add({"id": item.get("call_id"), "function": function})
        elif item.get("type") == "reasoning":
            self._thoughts.add_items([item])

    def _end(self, response: dict[str, Any]) -> None:
        if counted := response.get("usage"):
            self.usage = {
                "prompt_tokens": counted.get("input_tokens"),
                "completion_tokens": counted.get("output_tokens"),
                "total_tokens": counted.get("total_tokens"),
                "prompt_tokens_details": counted.get("input_tokens_details"),
                "completion_tokens_details": counted.get("output_tokens_details"),
            }
        reason = (response.get("incomplete_details") or {}).get("reason")
        self._ended(_REASONS.get(str(reason), "length") if response.get("status") == "incomplete" else "stop")
