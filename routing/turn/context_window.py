"""Decides whether a conversation fits the context window of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from routing.types.llm import ChatMessage
from routing.types.tokens import UNITS, estimate

SHARE_OF_LIMIT = 0.8
MAX_OVERHEAD_TOKENS = 8000
"""Tokens reserved for tools and the answer. Small models reserve an eighth of their window instead."""


@dataclass(frozen=True, slots=True)
class Window:
    """Available context: `limit` is the model's window at its reasoning level, `most` the owner's maxContextTokens;
    both in tokens."""

    limit: int
    most: int

    @property
    def overhead(self) -> float:
        """Tokens added to every estimate."""
        return min(MAX_OVERHEAD_TOKENS, self.limit / 8)

    @property
    def threshold(self) -> float:
        """Conversations above this many tokens are compacted."""
        return min(SHARE_OF_LIMIT * self.limit, self.most)

    def tokens(self, messages: Iterable[ChatMessage]) -> float:
        """Estimated tokens of the whole request."""
        return estimate(messages) + self.overhead

    @property
    def room(self) -> float:
        """Tokens available for the messages; at least half of the threshold."""
        return max(self.threshold - self.overhead, self.threshold / 2)

    def overflows(self, messages: Iterable[ChatMessage]) -> bool:
        return self.tokens(messages) > self.threshold

    def takes(self, weighed: int) -> bool:
        """Whether messages of this `weight` fit."""
        return weighed / UNITS <= self.room
