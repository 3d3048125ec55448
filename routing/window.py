"""The context window: what a conversation weighs and how much a model takes (routing specification, 21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from routing.calls import ChatMessage

CHARS_PER_TOKEN = 3.5
"""Latin text; an estimate before the call, the provider's own count is the truth."""
TOKENS_PER_PICTURE = 1000
SHARE_OF_LIMIT = 0.8
MOST_OVERHEAD = 8000
"""Tokens kept free for what is not in the messages (tools, the answer): this many, or an eighth of a small model."""

UNITS = 7
"""Weights are whole sevenths of a token, so that sums are exact: 2 a character, 7 a wide one."""
_NARROW = 2
_WIDE_BYTES = bytes(high for high in range(0x2F, 0x100) if not 0xDC <= high <= 0xDF)
"""First bytes in UTF-16 of signs that are about a token each: CJK, kana, Hangul, full width, and whatever lies beyond
U+FFFF (emoji, rare ideographs; the second halves of those are left out). Counting bytes is 10 times as fast as
looking at every character."""


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a conversation may be sent: `limit` is what the model takes at its reasoning level, `most` the
    owner's maxContextTokens; both in tokens."""

    limit: int
    most: int

    @property
    def overhead(self) -> float:
        """Tokens added to every estimate."""
        return min(MOST_OVERHEAD, self.limit / 8)

    @property
    def threshold(self) -> float:
        """Tokens up to which nothing needs to be done."""
        return min(SHARE_OF_LIMIT * self.limit, self.most)

    def tokens(self, messages: Iterable[ChatMessage]) -> float:
        """The estimate for a whole request."""
        return estimate(messages) + self.overhead

    @property
    def room(self) -> float:
        """Tokens for the messages themselves; half of the threshold, where the overhead would leave less."""
        return max(self.threshold - self.overhead, self.threshold / 2)

    def overflows(self, messages: Iterable[ChatMessage]) -> bool:
        """Whether the messages are too much; exactly at the threshold they are not."""
        return self.tokens(messages) > self.threshold

    def takes(self, weighed: int) -> bool:
        """Whether messages of this `weight` have room."""
        return weighed / UNITS <= self.room


def estimate(messages: Iterable[ChatMessage]) -> float:
    """Tokens of some messages: their texts, the names and arguments of their calls, their pictures. Thinking blocks
    are not counted: they are the provider's to keep or to drop."""
    return weight(messages) / UNITS


def weight(messages: Iterable[ChatMessage]) -> int:
    """The same in sevenths of a token."""
    texts: list[str] = []
    pictures = 0
    for message in messages:
        texts.append(message.text)
        for call in message.calls:
            texts += (call.name, call.arguments)
        pictures += len(message.pictures)
    return text_weight("".join(texts)) + UNITS * TOKENS_PER_PICTURE * pictures


def text_weight(text: str) -> int:
    """A text in sevenths of a token, by script: a CJK sign is a token, 3.5 other characters are one."""
    signs = wide(text)
    return _NARROW * (len(text) - signs) + UNITS * signs


def wide(text: str) -> int:
    """How many signs of a text are about a token each."""
    if text.isascii():
        return 0
    firsts = text.encode("utf-16-be", "surrogatepass")[::2]
    return len(firsts) - len(firsts.translate(None, _WIDE_BYTES))
