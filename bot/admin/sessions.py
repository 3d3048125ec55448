"""Who is signed in to the admin page, and how often a wrong token was tried."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field

from bot.admin.token import is_token
from handlers.access.sign_in_links import hashed
from routing.bounded import Bounded
from routing.ports import Clock
from routing.types.messages import UserKey

SESSION_SECONDS = 12 * 3600.0
MAX_SESSIONS = 100
MAX_WRONG, MAX_WRONG_IN_ALL = 5, 50
WRONG_SECONDS = 900.0
"""At most MAX_WRONG wrong tokens per address, and MAX_WRONG_IN_ALL from all of them, within WRONG_SECONDS."""


@dataclass(slots=True)
class Session:
    """A signed-in browser. `owner` is who signed in by a link; None for the token. Every form carries `csrf`. `notice`
    is a sentence for the next page."""

    expires_at: float
    owner: UserKey | None = None
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    notice: str = ""

    def is_csrf(self, given: str) -> bool:
        """Compares in constant time."""
        return is_token(given, self.csrf)

    def take_notice(self) -> str:
        """The notice, which is shown once."""
        notice, self.notice = self.notice, ""
        return notice


class Sessions:
    """Sessions end after SESSION_SECONDS, with the process, or when their owner signs out. Only hashes of the cookies
    are kept, in memory; above MAX_SESSIONS the oldest ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sessions = Bounded[str, Session](MAX_SESSIONS)

    def begin(self, owner: UserKey | None = None) -> str:
        """A new session; returns the value of its cookie."""
        cookie = secrets.token_urlsafe(32)
        self._sessions[hashed(cookie)] = Session(self._clock() + SESSION_SECONDS, owner)
        return cookie

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie; None if it ended."""
        session = self._sessions.get(hashed(cookie))
        if session is not None and session.expires_at <= self._clock():
            self.end(cookie)
            return None
        return session

    def end(self, cookie: str) -> None:
        """Sign out."""
        self._sessions.pop(hashed(cookie), None)


class Attempts:
    """Counts wrong tokens by address."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong = Bounded[str, deque[float]](MAX_SESSIONS)
        self._in_all: deque[float] = deque(maxlen=MAX_WRONG_IN_ALL)

    def wait_seconds(self, address: str) -> float:
        """How long this address has to wait until it may try again; 0 if it may now."""
        mine = self._wrong.get(address, deque())
        waits = (
            _until_room(each, most, self._clock())
            for each, most in ((mine, MAX_WRONG), (self._in_all, MAX_WRONG_IN_ALL))
        )
        return max(waits)

    def count(self, address: str) -> None:
        """Note a wrong token."""
        mine = self._wrong.get(address) or deque(maxlen=MAX_WRONG)
        mine.append(self._clock())
        self._wrong[address] = mine
        self._in_all.append(self._clock())


def _until_room(times: deque[float], most: int, now: float) -> float:
    return max(0.0, times[0] + WRONG_SECONDS - now) if len(times) >= most else 0.0
