"""Who is mentioned in a text, and the text as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_MENTION = re.compile(r"<(@!?|@&|#)(\d{1,20})>")
_EMOJI = re.compile(r"<a?:(\w{2,32}):\d{1,20}>")
_AROUND = " \t\n,:"

Name = Callable[[int], str]


def spoken(text: str, users: Mapping[int, str], role: Name, channel: Name) -> str:
    """Names in place of ids; an id that nobody has a name for stays as it is."""

    def named(found: re.Match[str]) -> str:
        sign, number = found[1], int(found[2])
        name = channel(number) if sign == "#" else role(number) if sign == "@&" else users.get(number, "")
        return f"{'#' if sign == '#' else '@'}{name}" if name else found[0]

    return _EMOJI.sub(r":\1:", _MENTION.sub(named, text))


def without(text: str, own: frozenset[str]) -> str:
    """The text without mentions of the bot at its start and end; `own` is how it is mentioned."""
    text = text.strip()
    while (found := _MENTION.match(text)) is not None and found[0] in own:
        text = text[found.end() :].lstrip(_AROUND)
    while True:
        mark = next((mention for mention in own if text.endswith(mention)), None)
        if mark is None:
            return text
        text = text.removesuffix(mark).rstrip()


def own_mentions(user_id: int, role_id: int | None) -> frozenset[str]:
    """As clients write the bot's mention; people often take the role of the same name that its invitation made."""
    return frozenset({f"<@{user_id}>", f"<@!{user_id}>", *([f"<@&{role_id}>"] if role_id else [])})
