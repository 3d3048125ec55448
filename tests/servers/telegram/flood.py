"""The server's flood limits, for stories that must respect them. Figures: the official bot FAQ."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tests.servers.telegram.faults import too_many
from tests.servers.telegram.values import Chat

BURST = 3
"""Messages a chat takes at once before one a second is enforced; the FAQ only says "short bursts"."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` calls in any `seconds`."""

    count: int
    seconds: float


CHAT = Limit(BURST, BURST)
GROUP = Limit(20, 60)
ALL = Limit(30, 1)
COUNTED = ("send", "edit", "forward", "copy")
FREE = frozenset({"sendChatAction", "sendMessageDraft"})


class Flood:
    """Counts the accepted calls; refused ones do not count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[int | str, deque[float]] = {}

    def spend(self, method: str, chat: Chat) -> None:
        """Raises 429 with the whole seconds to wait."""
        if not method.startswith(COUNTED) or method in FREE:
            return
        limits: list[tuple[int | str, Limit]] = [("all", ALL), (chat.id, CHAT if chat.is_private else GROUP)]
        if not chat.is_private:
            limits.append((f"burst {chat.id}", CHAT))
        now = self._clock()
        wait = max(self._wait(key, limit, now) for key, limit in limits)
        if wait > 0:
            raise too_many(math.ceil(wait))
        for key, _ in limits:
            self._calls[key].append(now)

    def _wait(self, key: int | str, limit: Limit, now: float) -> float:
        calls = self._calls.setdefault(key, deque())
        while calls and calls[0] <= now - limit.seconds:
            calls.popleft()
        return calls[0] + limit.seconds - now if len(calls) >= limit.count else 0.0
