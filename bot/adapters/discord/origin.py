"""The interaction that a message came from, as text: it travels with the message and so survives a restart."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

EPOCH = 1420070400.0
"""Unix seconds of the first second of 2015, from which Discord's ids count milliseconds."""
LIFE = 14.5 * 60
"""Seconds in which the token is used; Discord forgets it after 15 minutes."""
_PACKED = re.compile(r"i:(\d{1,20}):(c?e?a?):(\d{1,20}):([^:]*):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Origin:
    """A slash command's interaction, or a pressed control's (`component`). `ephemeral`: only who acted sees the
    answer; they are `user_id` and speak `language`, empty where that is unknown. `apart`: the answer is a message of
    its own instead of a new text for the one that was pressed."""

    interaction_id: int
    token: str
    user_id: int
    language: str = ""
    component: bool = False
    ephemeral: bool = False
    apart: bool = False

    def pack(self) -> str:
        """What `unpack` reads."""
        flags = "c" * self.component + "e" * self.ephemeral + "a" * self.apart
        return f"i:{self.interaction_id}:{flags}:{self.user_id}:{self.language}:{self.token}"

    @staticmethod
    def unpack(text: str) -> Origin | None:
        """None for anything else, such as the id of a message."""
        found = _PACKED.fullmatch(text)
        if found is None:
            return None
        number, flags, user, language, token = found.groups()
        return Origin(int(number), token, int(user), language, "c" in flags, "e" in flags, "a" in flags)

    def alive(self, now: float) -> bool:
        """Whether the token still opens something; `now` is Unix seconds."""
        return now - created(self.interaction_id) < LIFE

    def beside(self) -> Origin:
        """The same for an answer that leaves the pressed message as it is."""
        return replace(self, apart=True)


def created(snowflake: int) -> float:
    """When Discord made this id, in Unix seconds."""
    return (snowflake >> 22) / 1000 + EPOCH
