"""The context window: what a conversation weighs and how much a model takes (routing specification, 21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from routing.types.llm import ChatMessage
from routing.types.tokens import UNITS, estimate

SHARE_OF_LIMIT = 0.8
MOST_OVERHEAD = 8000
"""Tokens kept free for what is not in the messages (tools, the answer): this many, or an eighth of a small model."""


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
