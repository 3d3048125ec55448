"""Up to where everything was heard, for each gateway connection: one that is away must not be forgotten for others."""

from __future__ import annotations

from typing import Any


class Marks:
    """Ids of messages. `since`, while something may be missing on a connection: up to where everything was heard on it,
    0 for what an earlier process left."""

    def __init__(self) -> None:
        self.since: dict[int, int] = {}
        self._heard: dict[int, int] = {}
        self._connected: set[int] = set()

    @property
    def newest(self) -> int:
        return max(self._heard.values(), default=0)

    def hear(self, shard: int, message_id: int) -> None:
        self._heard[shard] = max(self._heard.get(shard, 0), message_id)

    def began(self, shard: int) -> None:
        """A new session: what came after the last message may be missing."""
        self._connected.add(shard)
        self.since.setdefault(shard, self._heard.get(shard, 0))

    def resumed(self, shard: int) -> None:
        self._connected.add(shard)

    def lost(self, shard: int) -> None:
        self._connected.discard(shard)

    def complete(self, shards: int) -> bool:
        """Whether nothing before the newest message is missing. What one connection alone lacks is newer."""
        return not self.since and (shards == 1 or len(self._connected) >= shards)


def shard_of(payload: dict[str, Any]) -> int:
    """Of which connection a READY tells, or a RESUMED, to which the library adds that."""
    own = payload.get("shard") or (0,)
    return int(payload.get("__shard_id__") or own[0])
