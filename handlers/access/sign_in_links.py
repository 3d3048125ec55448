"""One-time links to the admin page, which owners get with /admin."""

from __future__ import annotations

import hashlib
import secrets

from routing.bounded import Bounded
from routing.ports import Clock

LINK_SECONDS = 600.0
MAX_LINKS = 20
PATH = "/sign-in/link"


class SignInLinks:
    """Codes that sign in once, within LINK_SECONDS. Only their hashes are kept, in memory."""

    def __init__(self, address: str | None, clock: Clock) -> None:
        """`address` is where people open the page; None if it is off."""
        self._address = address
        self._clock = clock
        self._valid_until = Bounded[str, float](MAX_LINKS)

    def new(self) -> str | None:
        """A link for one owner; None if the admin page is off."""
        if self._address is None:
            return None
        code = secrets.token_urlsafe(32)
        self._valid_until[_hashed(code)] = self._clock() + LINK_SECONDS
        return f"{self._address}{PATH}?code={code}"

    def use(self, code: str) -> bool:
        """Whether the code is valid; it is not any more."""
        until = self._valid_until.pop(_hashed(code), None)
        return until is not None and self._clock() < until


def _hashed(code: str) -> str:
    """These codes have 256 random bits, so a fast hash is enough."""
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
