"""Shows remembered facts to their person, as plain text without formatting or links."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from handlers.context import CommandContext
from handlers.languages import Say
from routing.text import shortened
from routing.types.memory import Fact, FactAuthor
from routing.types.messages import Button

LINE_CHARACTERS = 160
"""Maximum length of a fact in a list."""
MAX_NAMED = 3
"""Maximum number of facts in the line below an answer."""
AUTHORS: dict[FactAuthor, str] = {
    "person": "from you",
    "model": "noted by a model from what you said",
    "confirmed": "noted by a model after texts by others, confirmed by you",
}


def code(text: str, most: int = LINE_CHARACTERS) -> str:
    """A fact as a code span on one line."""
    shown = shortened(text, most).replace("`", "'")
    return f"`{shown}`"


def numbered(fact: Fact) -> str:
    """A fact with its number."""
    return f"**{fact.id}.** {'📌 ' if fact.pinned else ''}{code(fact.text)}"


def origin(say: Say, fact: Fact, zone: tzinfo) -> str:
    """Who said it, what the model had read by then, and when."""
    read = ", ".join(map(code, fact.sources))
    parts = (say(AUTHORS[fact.author]), read, say.time(datetime.fromtimestamp(fact.at, zone)))
    return " · ".join(filter(None, parts))


def remembered(ask: CommandContext, facts: Sequence[Fact]) -> tuple[str, tuple[tuple[Button, ...], ...]]:
    """The line below an answer that says what was remembered, and the button that takes it back."""
    if not facts:
        return "", ()
    named = "; ".join(code(each.text) for each in facts[:MAX_NAMED])
    more = f" +{len(facts) - MAX_NAMED}" if len(facts) > MAX_NAMED else ""
    command = f"/memory forget {' '.join(str(each.id) for each in facts)}"
    return ask.say("🧠 Remembered: {facts}", facts=f"{named}{more}"), (
        (Button(ask.say("🗑 Forget"), command, about=ask.turn_id),),
    )
