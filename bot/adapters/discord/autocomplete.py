"""What Discord asks while an option is being typed."""

from __future__ import annotations

import asyncio

from bot.adapters.discord.tree import SUBCOMMAND, Json
from handlers.suggestions import Suggestions, Typing
from routing.types import UserKey

MOST_VALUE = 100
"""Characters of a choice; a longer one can't be offered."""
LOOKS = (0.0, 0.1, 0.3, 0.6)
"""Seconds before each look; the next one follows only where nothing could be known yet. The first one at somebody, or
at what the machine can run, may take longer than `Suggestions` waits; what it found is at hand soon after. Discord
waits for three seconds."""


async def suggested(data: Json, user: UserKey, suggestions: Suggestions) -> list[str]:
    """The choices for the option under the cursor."""
    typing = focused(data)
    if typing is None:
        return []
    for seconds in LOOKS:
        await asyncio.sleep(seconds)
        if (words := await suggestions.offer(user, typing)) is not None:
            return [word for word in words if 0 < len(word) <= MOST_VALUE]
    return []


def focused(data: Json) -> Typing | None:
    """The option that is being typed, with those filled in already; None when there is none."""
    options: list[Json] = data.get("options") or []
    if options and options[0]["type"] == SUBCOMMAND:
        options = options[0].get("options") or []
    under = next((option for option in options if option.get("focused")), None)
    if under is None:
        return None
    given = {option["name"]: str(option.get("value", "")) for option in options if option is not under}
    return Typing(data["name"], under["name"], str(under.get("value", "")), given)
