"""Keeps a model's thinking during a turn and sends it back to the provider that made it.

Claude accepts thinking only in the turn that produced it, and newer Claudes bind it to everything before it. DeepSeek
requires it. OpenAI's /responses takes it encrypted. It is never shown to people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from routing.types.llm import ChatMessage

Wire = Literal["chat", "responses", "anthropic", "gemini"]
"""Wire formats: OpenAI's chat completions and responses, Anthropic's messages, Gemini's generateContent."""

Block = dict[str, Any]
_REFUSED = ("thinking", "signature", "encrypted content", "encrypted_content", "reasoning")
"""Words in the errors of providers that can't verify the thinking they got back."""
_NO_WORDS = re.compile(r'"(?:type|format|id|signature|data|encrypted_content)": "[^"]*+"|"\w++": ')
"""Fields of a block without words of the model, and the names of the others."""


class Thoughts:
    """Assembles thinking blocks from a stream."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []

    def add(self, piece: Mapping[str, Any]) -> None:
        """Extend the last block or start a new one. A signature closes a block."""
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

    def add_text(self, text: str) -> None:
        """Add thinking that arrived as plain text (`reasoning_content`)."""
        self.add({"type": "reasoning_content", "text": text})

    def add_items(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Add reasoning items of /responses. Items without encrypted content are skipped: they would need storage at
        OpenAI."""
        for item in items:
            if item.get("encrypted_content"):
                kept = {name: item.get(name) for name in ("type", "encrypted_content", "summary")}
                self._blocks.append(kept)

    def text(self) -> str:
        """The blocks as a JSON list, or an empty string."""
        return json.dumps(self._blocks, ensure_ascii=False) if self._blocks else ""


def wire_fields(thinking: str, wire: Wire) -> dict[str, Any]:
    """The fields of a LiteLLM message that carry stored thinking in this wire format."""
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


def readable(thinking: str) -> str:
    """Stored thinking without the names of its fields, and without what only the provider can read."""
    return _NO_WORDS.sub("", thinking)


def drop_earlier_turns(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Drop the thinking of earlier turns. Claude doesn't need it, and rejects it after a change of tools or
    instructions."""
    begin = turn_begin(messages)
    return tuple([_bare(message) if index < begin else message for index, message in enumerate(messages)])


def without(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    return tuple([_bare(message) for message in messages])


def may_continue_thinking(messages: Sequence[ChatMessage]) -> bool:
    """Whether the current turn may continue with thinking: Claude's fixed-budget mode requires that its first answer
    began with thinking, or that it has none yet."""
    answers = [message for message in messages[turn_begin(messages) :] if message.role == "assistant"]
    return not answers or bool(wire_fields(answers[0].thinking, "anthropic"))


def turn_begin(messages: Sequence[ChatMessage]) -> int:
    """The index after the last user message, where the current turn begins."""
    return next((index + 1 for index in reversed(range(len(messages))) if messages[index].role == "user"), 0)


def refused(error: BaseException) -> bool:
    """Whether a provider rejected a request because of the thinking in it."""
    return getattr(error, "status_code", None) == 400 and any(words in str(error).lower() for words in _REFUSED)


def _bare(message: ChatMessage) -> ChatMessage:
    if not message.thinking and not any([call.signature for call in message.calls]):
        return message
    return replace(message, thinking="", calls=tuple([replace(call, signature="") for call in message.calls]))
