"""A model's own thinking, kept between the rounds of a turn for the provider that made it.

Claude takes thinking back only in the turn in which it was made, and newer Claudes bind it to everything before it;
DeepSeek demands it back; OpenAI's /responses takes it encrypted. Nobody is shown any of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from routing.types.llm import ChatMessage

Wire = Literal["chat", "responses", "anthropic", "gemini"]
"""The wire formats: OpenAI's chat completions and responses, Anthropic's messages, Gemini's generateContent."""

Block = dict[str, Any]
_REFUSED = ("thinking", "signature", "encrypted content", "encrypted_content", "reasoning")
"""One of these stands in the words of a provider that can't check what it was given back."""


class Thoughts:
    """Puts the pieces of a stream together to the blocks that the wire takes back."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []

    def add(self, piece: Mapping[str, Any]) -> None:
        """Continue the last block, or begin another: after its signature a block is closed."""
        block = {name: value for name, value in piece.items() if value is not None}
        last = self._blocks[-1] if self._blocks else {}
        kind = block.get("type")
        same = last.get("type") == kind and last.get("index") == block.get("index") and not last.get("signature")
        if not same or kind in ("redacted_thinking", "reasoning"):
            self._blocks.append(block)
            return
        for name, value in block.items():
            grows = name in ("thinking", "text", "summary", "data") and isinstance(value, str)
            last[name] = last.get(name, "") + value if grows else value

    def words(self, text: str) -> None:
        """Thinking that came as plain text (`reasoning_content`)."""
        self.add({"type": "reasoning_content", "text": text})

    def items(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Reasoning items of /responses. Without its encrypted content an item would have to be kept at OpenAI."""
        for item in items:
            if item.get("encrypted_content"):
                kept = {name: item.get(name) for name in ("type", "encrypted_content", "summary")}
                self._blocks.append(kept)

    def text(self) -> str:
        """The blocks as a JSON list; empty without any."""
        return json.dumps(self._blocks, ensure_ascii=False) if self._blocks else ""


def given_back(thinking: str, wire: Wire) -> dict[str, Any]:
    """The fields of LiteLLM's message that carry a stored thinking on this wire."""
    try:
        blocks = [block for block in json.loads(thinking or "[]") if isinstance(block, dict)]
    except ValueError:
        return {}
    fields: dict[str, Any] = {}
    for block in blocks:
        kind = str(block.get("type"))
        if wire == "anthropic" and kind in ("thinking", "redacted_thinking"):
            fields.setdefault("thinking_blocks", []).append(block)
        elif wire == "responses" and kind == "reasoning":
            fields.setdefault("reasoning_items", []).append(block)
        elif wire == "chat" and kind == "reasoning_content":
            fields["reasoning_content"] = fields.get("reasoning_content", "") + str(block.get("text", ""))
        elif wire == "chat" and kind.startswith("reasoning."):
            fields.setdefault("reasoning_details", []).append(block)
    return fields


def of_this_turn(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Without the thinking of earlier turns, which Claude does not need and, once a tool or an instruction has
    changed, refuses."""
    begin = turn_begin(messages)
    return tuple([_bare(message) if index < begin else message for index, message in enumerate(messages)])


def without(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Without any thinking and signature."""
    return tuple([_bare(message) for message in messages])


def began_with(messages: Sequence[ChatMessage]) -> bool:
    """Whether the turn in progress may go on thinking, by Claude's older rule: it has no answer yet, or its first
    begins with thinking."""
    answers = [message for message in messages[turn_begin(messages) :] if message.role == "assistant"]
    return not answers or bool(given_back(answers[0].thinking, "anthropic"))


def turn_begin(messages: Sequence[ChatMessage]) -> int:
    """Where the turn in progress begins: behind the last message of the user."""
    return next((index + 1 for index in reversed(range(len(messages))) if messages[index].role == "user"), 0)


def refused(error: BaseException) -> bool:
    """Whether a provider refused a request for the thinking in it."""
    return getattr(error, "status_code", None) == 400 and any(words in str(error).lower() for words in _REFUSED)


def _bare(message: ChatMessage) -> ChatMessage:
    if not message.thinking and not any([call.signature for call in message.calls]):
        return message
    return replace(message, thinking="", calls=tuple([replace(call, signature="") for call in message.calls]))
