"""Rate limits: the headers of every answer and, if enforced, five sends and edits in five seconds per channel. Discord
counts sends and edits separately; counting them together is stricter, so a bot that passes here passes there."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from tests.servers.discord.faults import too_many

COUNT, SECONDS = 5, 5.0
"""From the headers of POST /channels/{channel_id}/messages; the documentation gives no figures."""
LOOSE = 10_000
"""The limit in the headers if nothing is enforced."""
_COUNTED = ("POST /channels/{channel_id}/messages", "PATCH /channels/{channel_id}/messages/{message_id}")


@dataclass(slots=True)
class Limits:
    """Counts the accepted calls; refused ones do not count. `clock` is in seconds."""

    clock: Callable[[], float]
    enforced: bool
    _calls: dict[str, deque[float]] = field(default_factory=dict)

    def spend(self, route: str, channel_id: str) -> None:
        """Raises 429 with the seconds to wait."""
        if not self.enforced or route not in _COUNTED:
            return
        calls = self._recent(channel_id)
        if len(calls) >= COUNT:
            raise too_many(round(calls[0] + SECONDS - self.clock(), 3))
        calls.append(self.clock())

    def headers(self, route: str, channel_id: str) -> dict[str, str]:
        """X-RateLimit-* for an answer of that route."""
        limit, remaining, after = LOOSE, LOOSE - 1, 1.0
        bucket = route
        if self.enforced and route in _COUNTED:
            calls = self._recent(channel_id)
            limit, remaining, bucket = COUNT, COUNT - len(calls), "messages"
            after = max(calls[0] + SECONDS - self.clock(), 0.0) if calls else SECONDS
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": f"{self.clock() + after:.3f}",
            "X-RateLimit-Reset-After": f"{after:.3f}",
            "X-RateLimit-Bucket": sha256(bucket.encode()).hexdigest()[:32],
        }

    def _recent(self, channel_id: str) -> deque[float]:
        calls = self._calls.setdefault(channel_id, deque())
        while calls and calls[0] <= self.clock() - SECONDS:
            calls.popleft()
        return calls
