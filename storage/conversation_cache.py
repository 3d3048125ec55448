"""The newest messages of recent conversations, in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from sys import getsizeof

from routing.bounded import SizeBounded
from routing.types.history import StoredMessage, Summary

Unsummarised = tuple[Summary | None, tuple[StoredMessage, ...], int]
"""The newest summary, the messages after it, and the number of all of them, as in `HistoryStore.unsummarised`."""

MAX_BYTES = 8_000_000
"""Maximum bytes of all conversations together: a few hundred long ones, or 16,000 empty ones."""
_MIN_CONVERSATIONS = 8
"""The cache has room for at least this many: a conversation larger than MAX_BYTES / 8 is not cached."""
_ENTRY_BYTES, _MESSAGE_BYTES = 500, 300
"""Bytes of an entry and of a message besides its texts, rounded up."""


@dataclass(slots=True)
class _Entry:
    limit: int | None
    """None fits every limit, because there are no messages yet."""
    found: Unsummarised
    bytes: int


class ConversationCache:
    """A least-recently-used cache of what turns read. Pictures are stored as references only.

    A writer calls `add` or `drop` when its transaction has ended. Results of reads that began earlier are not cached.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries = SizeBounded[int, _Entry](max_bytes, lambda entry: entry.bytes)
        """By conversation, the least recently used first."""
        self._reading: dict[int, object] = {}
        """By conversation, a token of its newest read; removed when the conversation changes."""

    async def get(self, conversation_id: int, limit: int, read: Callable[[], Awaitable[Unsummarised]]) -> Unsummarised:
        """The cached result for this limit, or else the result of `read`."""
        entry = self._entries.take(conversation_id)
        if entry is not None and entry.limit in (limit, None):
            entry.limit = limit
            self._put(conversation_id, entry)
            return entry.found
        token = self._reading[conversation_id] = object()
        try:
            found = await read()
            if self._reading.get(conversation_id) is token:
                self._entries.take(conversation_id)
                self._put(conversation_id, _Entry(limit, found, _ENTRY_BYTES + _size(found[0], found[1])))
            return found
        finally:
            if self._reading.get(conversation_id) is token:
                del self._reading[conversation_id]

    def begin(self, conversation_id: int) -> None:
        """Cache a new conversation, which has no messages yet."""
        self._put(conversation_id, _Entry(None, (None, (), 0), _ENTRY_BYTES))

    def add(self, conversation_id: int, messages: Sequence[StoredMessage]) -> None:
        """Add committed messages. If later ones are cached already, drop the conversation, so that it is read again."""
        self._reading.pop(conversation_id, None)
        entry = self._entries.take(conversation_id)
        if entry is None or entry.limit is None:
            return
        summary, earlier, total = entry.found
        newest = earlier[-1].id if earlier else summary.upto if summary else 0
        if messages and messages[0].id <= newest:
            return
        together = (*earlier, *messages)
        extra = max(0, len(together) - entry.limit)
        size = entry.bytes + _size(None, messages) - _size(None, together[:extra])
        found = (summary, together[extra:], total + len(messages))
        self._put(conversation_id, _Entry(entry.limit, found, size))

    @contextmanager
    def changing(self, conversation_id: int) -> Iterator[None]:
        """Around a transaction: drop the conversation if it fails or is cancelled, as it may still be committed."""
        ended = False
        try:
            yield
            ended = True
        finally:
            if not ended:
                self.drop(conversation_id)

    def drop(self, conversation_id: int) -> None:
        """Drop a conversation that has or may have changed."""
        self._reading.pop(conversation_id, None)
        self._entries.take(conversation_id)

    def clear(self) -> None:
        """Drop all conversations, because any of them may have changed."""
        self._reading.clear()
        self._entries.clear()

    def _put(self, conversation_id: int, entry: _Entry) -> None:
        if entry.bytes <= self._max_bytes // _MIN_CONVERSATIONS:
            self._entries[conversation_id] = entry


def _size(summary: Summary | None, messages: Sequence[StoredMessage]) -> int:
    texts = [] if summary is None else [summary.text, summary.reason]
    for each in messages:
        texts += [each.text, each.thinking, each.call_id, each.tool, each.source]
        texts += [part for call in each.calls for part in (call.id, call.name, call.arguments, call.signature)]
        texts += [part for picture in each.pictures for part in (picture.name, picture.ref)]
    return _MESSAGE_BYTES * len(messages) + sum(map(getsizeof, texts))
