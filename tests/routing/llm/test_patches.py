"""Our patched requests equal those that OpenAI's client would have sent."""

import importlib
from typing import Any

import pytest

from routing.llm import patches

REQUEST: dict[str, Any] = {
    "model": "gpt-5.1",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ],
    "stream": True,
    "stream_options": {"include_usage": True},
}


async def test_the_request_is_what_the_client_would_have_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = importlib.import_module("openai")
    completions: Any = importlib.import_module(patches.COMPLETIONS)
    rewriting = importlib.import_module("openai._utils").async_maybe_transform
    monkeypatch.setattr(completions, "async_maybe_transform", rewriting)
    patches.send_as_given()
    assert completions.async_maybe_transform is not rewriting
    given = REQUEST | {"seed": client.NOT_GIVEN, "user": client.omit}
    expected = importlib.import_module("openai.types.chat.completion_create_params").CompletionCreateParamsStreaming
    assert await completions.async_maybe_transform(given, expected) == await rewriting(given, expected) == REQUEST
