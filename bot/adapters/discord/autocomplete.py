"""What Discord asks while an option is being typed."""

from __future__ import annotations

from bot.adapters.discord.tree import SUBCOMMAND, Json
from handlers.suggestions import Suggestions, Typing
from routing.types import UserKey

MOST_VALUE = 100
"""Characters of a choice; a longer one can't be offered."""


async def suggested(data: Json, user: UserKey, suggestions: Suggestions) -> list[str]:
    """The choices for the option under the cursor."""
    typing = focused(data)
    if typing is None:
        return []
    return [word for word in await suggestions.offer(user, typing) if 0 < len(word) <= MOST_VALUE]


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
