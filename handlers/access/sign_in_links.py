"""One-time links to the admin page, which owners get with /admin."""

from __future__ import annotations

import hashlib
import secrets

from routing.bounded import Bounded
from routing.ports import Clock
from routing.types.messages import UserKey

LINK_SECONDS = 600.0
LINK_MINUTES = round(LINK_SECONDS / 60)
MAX_LINKS = 20
PATH = "/sign-in/link"


class SignInLinks:
    """Codes that sign in once, within LINK_SECONDS. Only their hashes are kept, in memory."""

    def __init__(self, address: str | None, clock: Clock) -> None:
        """`address` is where people open the page; None if it is off."""
        self._address = address
        self._clock = clock
        self._links = Bounded[str, tuple[UserKey, float]](MAX_LINKS)

    def new(self, owner: UserKey) -> str | None:
        """A link for this owner; None if the admin page is off."""
        if self._address is None:
            return None
        code = secrets.token_urlsafe(32)
        self._links[hashed(code)] = owner, self._clock() + LINK_SECONDS
        return f"{self._address}{PATH}?code={code}"

    def use(self, code: str) -> UserKey | None:
        """Whose link it is, which is not valid any more; None if it was not before."""
        owner, until = self._links.pop(hashed(code), None) or (None, 0.0)
        return owner if self._clock() < until else None


def hashed(code: str) -> str:
    """A fast hash, which is enough for codes with 256 random bits."""
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
