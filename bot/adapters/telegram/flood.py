"""A rate limiter for Telegram's flood limits. Replies to a chat wait in order; previews give way to them.

It uses sliding windows. A leaky bucket would allow 39 messages in a group's first minute, and Telegram allows 20.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.platform import SendLater
from routing.errors import ConfigError

MAX_WAIT_SECONDS = 5.0  # maximum wait of a reply; after that it goes back to the outbox
_BURST = 3  # messages at once in one chat, if the average holds: "short bursts" in the Bot FAQ
_MARGIN = 1.03  # factor, because calls may arrive closer together than they were sent
_GLOBAL_AFTER = 4  # after 429s in this many chats in a row, the limit may apply to the whole bot
_PROBE = 1.0  # seconds between the probing replies sent then
_MAX_CHATS = 512  # number of chats above which idle ones are dropped
_PART = re.compile(r"(\d+)\s*/\s*(s|sec|second|m|min|minute)(?:\s+per\s+(chat|group))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` calls per `seconds`."""

    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Flood limits; None means no limit."""

    total: Rate | None = None
    chat: Rate | None = None
    group: Rate | None = None


def parse(text: str) -> Limits:
    """Parse TELEGRAM_FLOOD_LIMIT: "30/s,1/s per chat,20/min per group", parts of it, or "off". Raises ConfigError."""
    rates: dict[str, Rate] = {}
    for part in () if text.strip().lower() == "off" else text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None or int(match[1]) == 0 or (match[3] or "total").lower() in rates:
            raise ConfigError(
                f"TELEGRAM_FLOOD_LIMIT: {part.strip()!r} is not a limit; "
                'write it like "30/s,1/s per chat,20/min per group", or "off".'
            )
        period = 1.0 if match[2].lower().startswith("s") else 60.0
        rates[(match[3] or "total").lower()] = Rate(int(match[1]), period)
    return Limits(**rates)


@dataclass(slots=True)
class _Window:
    rate: Rate
    times: deque[float] = field(default_factory=deque)

    def wait(self, now: float, kept: int = 0) -> float:
        """Seconds until another call fits, with `kept` places left free."""
        times, span = self.times, self.rate.seconds * _MARGIN
        while times and times[0] <= now - span:
            times.popleft()
        excess = len(times) + kept - self.rate.count
        return 0.0 if excess < 0 else times[min(excess, len(times) - 1)] + span - now

    @property
    def reserve(self) -> int:
        """Places that previews leave free for the final message."""
        return min(max(1, self.rate.count // 6), self.rate.count - 1)


@dataclass(slots=True)
class _Chat:
    windows: tuple[_Window, ...]
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)
    blocked_until: float = 0.0


class RateLimiter:
    """Limits calls per chat and in total. `now` returns monotonic seconds."""

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._now = now
        self._total = () if limits.total is None else (_Window(limits.total),)
        self._chats: dict[str, _Chat] = {}
        self._most_chats = _MAX_CHATS
        self._blocked_until = self._probe_at = 0.0
        self._refused: dict[str, float] = {}
        """Chats whose last call got a 429, with the end of the wait; cleared when any message gets through."""

    async def turn(self, chat_id: str) -> None:
        """Wait in order until a reply may be sent. Raises SendLater if that takes longer than MAX_WAIT_SECONDS."""
        chat = self._chat(chat_id)
        if not chat.queue.locked() and self._take(chat):
            return
        async with chat.queue:
            while not self._take(chat):
                delay = self._delay(chat)
                if delay > MAX_WAIT_SECONDS:
                    raise SendLater("Telegram's flood limit", delay)
                await asyncio.sleep(delay)

    def spare(self, chat_id: str, counts: bool = True) -> bool:
        """Whether an optional call may be made now. `counts`: Telegram counts it as a message."""
        chat, now = self._chat(chat_id), self._now()
        if chat.queue.locked() or max(chat.blocked_until, self._blocked_until) > now:
            return False
        windows = self._total + chat.windows if counts else self._total
        if any(window.wait(now, window.reserve) > 0 for window in windows):
            return False
        if counts:
            self._note(chat, now)
        return True

    def refuse(self, chat_id: str, seconds: float) -> None:
        """Note a 429. Telegram does not say whether it is for one chat or for the bot, so after several in a row the
        other chats send one reply per second until one gets through."""
        now = self._now()
        chat = self._chat(chat_id)
        chat.blocked_until = max(chat.blocked_until, now + seconds)
        self._refused = {name: until for name, until in self._refused.items() if until > now}
        self._refused[chat_id] = now + seconds
        if len(self._refused) >= _GLOBAL_AFTER:
            self._blocked_until = max(self._blocked_until, min(self._refused.values()))
            self._probe_at = now + _PROBE

    def passed(self) -> None:
        """Note that a message got through, so earlier 429s were for single chats."""
        self._refused.clear()
        self._blocked_until = 0.0

    def _take(self, chat: _Chat) -> bool:
        now = self._now()
        if self._delay(chat) > 0:
            return False
        if self._blocked_until > now:
            self._probe_at = now + _PROBE
        self._note(chat, now)
        return True

    def _note(self, chat: _Chat, now: float) -> None:
        for window in self._total + chat.windows:
            window.times.append(now)

    def _delay(self, chat: _Chat) -> float:
        now = self._now()
        blocked = max(chat.blocked_until, min(self._blocked_until, self._probe_at)) - now
        return max([blocked, *(window.wait(now) for window in self._total + chat.windows)])

    def _chat(self, chat_id: str) -> _Chat:
        chat = self._chats.get(chat_id)
        if chat is None:
            if len(self._chats) >= self._most_chats:
                self._forget()
            chat = self._chats[chat_id] = _Chat(tuple(self._windows(chat_id)))
        return chat

    def _windows(self, chat_id: str) -> list[_Window]:
        windows = []
        if (rate := self._limits.chat) is not None:
            windows.append(_Window(Rate(rate.count * _BURST, rate.seconds * _BURST)))
        if self._limits.group is not None and chat_id.startswith("-"):
            windows.append(_Window(self._limits.group))
        return windows

    def _forget(self) -> None:
        """Drop idle chats. If thousands are waiting, it is not repeated before there are twice as many."""
        now = self._now()
        for name, chat in list(self._chats.items()):
            for window in chat.windows:
                window.wait(now)
            if chat.blocked_until <= now and not chat.queue.locked() and not any(w.times for w in chat.windows):
                del self._chats[name]
        self._most_chats = max(_MAX_CHATS, 2 * len(self._chats))
