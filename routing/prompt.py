"""The prompt of one turn: instructions, as much of the history as fits, the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from routing.calls import ChatMessage, Picture
from routing.types import PromptFit

CHARS_PER_TOKEN = 3.5
"""Latin text (routing specification, 21); an estimate before the call, the provider's count is the truth."""
WIDE_CHARS_PER_TOKEN = 1.0
"""CJK: about one token a character."""
TOKENS_PER_PICTURE = 1000
SHARE_OF_WINDOW = 0.8
MOST_OVERHEAD = 8000

BASE_INSTRUCTIONS = (
    "You are a helpful assistant in a chat. Answer in the user's language, in Markdown, without preamble."
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What goes into the system message: the owner's SYSTEM.md, the person's own words, today's date."""

    owner: str
    person: str
    today: str

    def text(self) -> str:
        """One stable text: it changes once a day at most, so that prompt caches stay valid."""
        parts = [self.owner or BASE_INSTRUCTIONS]
        if self.person:
            parts.append(f"About the user, in their own words: {self.person}")
        parts.append(f"Today is {self.today}.")
        return "\n\n".join(parts)


def estimate_tokens(text: str) -> int:
    """How many tokens a text takes, by script."""
    if text.isascii():
        return int(len(text) / CHARS_PER_TOKEN) + 1
    wide = sum(1 for sign in text if "\u2e80" <= sign <= "\uffef" or sign >= "\U00020000")
    return int((len(text) - wide) / CHARS_PER_TOKEN + wide / WIDE_CHARS_PER_TOKEN) + 1


def build(
    instructions: Instructions,
    history: Sequence[ChatMessage],
    question: str,
    pictures: tuple[Picture, ...],
    limit_tokens: int,
    missing: int = 0,
) -> tuple[tuple[ChatMessage, ...], PromptFit]:
    """The messages to send, and how they fit into `limit_tokens`. The oldest of the history are left out first;
    `missing` counts messages that were not even read."""
    system = ChatMessage("system", instructions.text())
    asked = ChatMessage("user", question, pictures)
    used = _size(system) + _size(asked)
    room = int(SHARE_OF_WINDOW * limit_tokens) - min(MOST_OVERHEAD, limit_tokens // 8)
    kept: list[ChatMessage] = []
    for message in reversed(history):
        used += _size(message)
        if used > room:
            used -= _size(message)
            break
        kept.append(message)
    while kept and kept[-1].role == "assistant":  # a conversation begins with its user
        used -= _size(kept.pop())
    fit = PromptFit(used, limit_tokens, len(history) - len(kept) + missing)
    return (system, *reversed(kept), asked), fit


def _size(message: ChatMessage) -> int:
    return estimate_tokens(message.text) + TOKENS_PER_PICTURE * len(message.pictures)
