"""Sending a reply: the errors for the outbox, and pieces whose file is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import aiohttp

from bot.platform import SendLater
from routing.bounded import Bounded

AMBIGUOUS_SECONDS = 30.0
"""Pause before a reply that may have arrived is sent again."""
REVOKED_SECONDS = 60.0
"""Pause after the platform refused the token."""
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
"""Errors raised before a request was sent, or by a proxy that refused it."""
_REMEMBERED = 256  # pieces whose file was refused
P = TypeVar("P")

Place = tuple[int, int]
"""Outbox id and number of the piece."""


class FileRefused(Exception):
    """The platform refused a file, but other messages can replace it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PieceSender(Generic[P]):
    """Remembers which of the messages that replace a refused file are left, so that a failed attempt is continued and
    not repeated."""

    def __init__(self) -> None:
        self._left = Bounded[Place, list[P]](_REMEMBERED)

    async def send(
        self,
        place: Place,
        part: P,
        deliver: Callable[[P], Awaitable[str]],
        instead: Callable[[P, str], Sequence[P]],
    ) -> str:
        """Send a piece and return the id of its last message. If `deliver` raises FileRefused, the messages that
        `instead` makes of the part and the reason are sent."""
        left = self._left.get(place) or [part]
        while True:
            try:
                sent = await deliver(left[0])
            except FileRefused as refused:
                left = [*instead(left[0], refused.reason)]
                self._left[place] = left
            else:
                del left[0]
                if not left:
                    self._left.pop(place, None)
                    return sent


def token_refused(platform: str) -> SendLater:
    """The owner has to set a valid token."""
    return SendLater(f"{platform} refuses the token", REVOKED_SECONDS)


def not_sent(platform: str, reason: str) -> SendLater:
    """The request never reached the platform."""
    return SendLater(f"no connection to {platform} ({reason})")


def unanswered(platform: str, reason: str, repeatable: bool, protected: bool = False) -> SendLater:
    """The request may have been carried out.

    `repeatable`: an edit, which can be repeated safely. `protected`: the platform discards a second copy if it comes
    soon.
    """
    text = f"no answer from {platform} ({reason})"
    if repeatable:
        return SendLater(text)
    return SendLater(text, None if protected else AMBIGUOUS_SECONDS, maybe_sent=True, protected=protected)
