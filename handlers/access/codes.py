"""One-time codes that one person reads out and another types."""

from __future__ import annotations

import re
import secrets
from itertools import islice

from routing.bounded import Bounded
from routing.errors import Refused
from routing.ports import Clock
from routing.types.messages import UserKey

CODE_SIGNS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
CODE_SECONDS = 600.0
MAX_WRONG_CODES = 5
LOCKOUT_SECONDS = 3600.0
MAX_CODES_PER_MESSAGE = 3
"""Maximum number of codes checked per message."""
_CODE = re.compile(rf"[{CODE_SIGNS}]{{4}}-?[{CODE_SIGNS}]{{4}}", re.IGNORECASE)
_SHOWN = re.compile(rf"(?<![\w-])[{CODE_SIGNS}]{{4}}-[{CODE_SIGNS}]{{4}}(?![\w-])", re.IGNORECASE)


def new_code() -> str:
    """Eight characters without look-alikes: 40 bits."""
    return "".join(secrets.choice(CODE_SIGNS) for _ in range(CODE_LENGTH))


def shown(code: str) -> str:
    """`ABCDEFGH` → `ABCD-EFGH`."""
    return f"{code[:4]}-{code[4:]}"


def read_code(text: str) -> str | None:
    """Parses a typed code; None if the text is not a code."""
    found = _CODE.fullmatch(text.strip())
    return found.group().replace("-", "").upper() if found else None


def posted_codes(text: str) -> tuple[str, ...]:
    """Possible codes in a text: in the displayed form, as the whole text, or as the last word after /access."""
    found = [match.group() for match in islice(_SHOWN.finditer(text), MAX_CODES_PER_MESSAGE)]
    words = text.split()
    if words and (len(words) == 1 or words[0].lower().startswith("/access")):
        found.append(words[-1])
    return tuple(dict.fromkeys(code for each in found if (code := read_code(each))))


class WrongCodes:
    """Locks a user out for an hour after five wrong codes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong = Bounded[UserKey, list[float]]()

    def check(self, user: UserKey) -> None:
        """Raises Refused while the user is locked out."""
        since = self._clock() - LOCKOUT_SECONDS
        recent = [at for at in self._wrong.get(user) or () if at > since]
        if len(recent) >= MAX_WRONG_CODES:
            raise Refused("Too many wrong codes. Try again in an hour.")

    def count(self, user: UserKey) -> None:
        """Records a wrong code."""
        self._wrong[user] = [*(self._wrong.get(user) or ())[-MAX_WRONG_CODES:], self._clock()]
