"""Plain requests over each wire format, and the content of their answers, to test the server itself."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.servers.model.server import ModelServer

WIRES: Final = ("chat", "responses", "messages", "generate")
KEY: Final = "sk-test"


def ask(ms: ModelServer, wire: str, text: str = "hi", *, stream: bool = True, **more: Any) -> dict[str, Any]:
    """The arguments of an httpx request that says `text` over that wire."""
    turn = {"role": "user", "content": text}
    bearer = {"authorization": f"Bearer {KEY}"}
    if wire == "chat":
        options = {"stream_options": {"include_usage": True}} if stream else {}
        body = {"model": "gpt-4o-mini", "messages": [turn], "stream": stream, **options, **more}
        return {"method": "POST", "url": f"{ms.openai_base}/chat/completions", "json": body, "headers": bearer}
    if wire == "responses":
        body = {"model": "gpt-5.2-codex", "input": [turn], "stream": stream, **more}
        body["input"] = [{"role": "user", "content": [{"type": "input_text", "text": text}]}]
        return {"method": "POST", "url": f"{ms.openai_base}/responses", "json": body, "headers": bearer}
    if wire == "messages":
        headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
        body = {"model": "claude-haiku-4-5", "messages": [turn], "max_tokens": 500, "stream": stream, **more}
        return {"method": "POST", "url": f"{ms.root}/v1/messages", "json": body, "headers": headers}
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}
    url = f"{ms.gemini_base}/models/gemini-2.5-flash:{verb}"
    return {"method": "POST", "url": url, "json": body, "headers": {"x-goog-api-key": KEY}}


def events(text: str) -> list[dict[str, Any]]:
    """The JSON of every server-sent event, without OpenAI's end mark."""
    found = re.findall(r"^data: (.*)$", text, re.MULTILINE)
    return [json.loads(each) for each in found if each != "[DONE]"]


def answer_text(wire: str, answer: dict[str, Any]) -> str:
    """The text in a whole answer."""
    if wire == "chat":
        return str(answer["choices"][0]["message"]["content"] or "")
    if wire == "responses":
        messages = [item for item in answer["output"] if item["type"] == "message"]
        return "".join(part["text"] for item in messages for part in item["content"])
    if wire == "messages":
        return "".join(block.get("text", "") for block in answer["content"])
    parts = answer["candidates"][0]["content"].get("parts", [])
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def streamed(wire: str, chunks: list[dict[str, Any]]) -> str:
    """The text in a stream's events."""
    if wire == "chat":
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        return "".join(delta.get("content") or "" for delta in deltas)
    if wire == "responses":
        return "".join(each["delta"] for each in chunks if each["type"] == "response.output_text.delta")
    if wire == "messages":
        return "".join(each.get("delta", {}).get("text", "") for each in chunks)
    return "".join(answer_text(wire, each) for each in chunks)


def finish(wire: str, answer: dict[str, Any]) -> str | None:
    """The finish reason of a whole answer, or of the event that carries it."""
    found: str | None
    if wire == "chat":
        found = answer["choices"][0]["finish_reason"] if answer["choices"] else None
    elif wire == "responses":
        answer = answer.get("response", answer)
        found = (answer.get("incomplete_details") or {}).get("reason") or answer.get("status")
    elif wire == "messages":
        found = answer.get("delta", answer).get("stop_reason")
    else:
        found = answer["candidates"][0].get("finishReason")
    return found
