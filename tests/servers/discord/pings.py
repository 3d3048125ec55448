"""Whom a message would ping: the mentions in its text, filtered by allowed_mentions.

Discord's rule: without allowed_mentions everything in the text pings, and so does the author of the message that is
answered; with it only what it names does. A mention inside code counts here, too, and so does one of a stranger.
"""

import re
from typing import Any

from tests.servers.discord.errors import invalid
from tests.servers.discord.message import Message, Pings
from tests.servers.discord.values import Channel, Json

_USER, _ROLE = re.compile(r"<@!?(\d+)>"), re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")


def pings_of(text: str, channel: Channel, allowed: Json | None, answered: Message | None = None) -> Pings:
    """`answered` is the message that this one replies to."""
    users = {int(found) for found in _USER.findall(text)}
    roles = {int(found) for found in _ROLE.findall(text)}
    everyone = bool(_EVERYONE.search(text)) and not channel.lacks("mention_everyone")
    author = {answered.author.id} if answered is not None else set()
    if allowed is None:
        return Pings(frozenset(users | author), frozenset(roles), everyone)
    parse = allowed.get("parse") or []
    users &= users if "users" in parse else _ids(allowed.get("users"))
    roles &= roles if "roles" in parse else _ids(allowed.get("roles"))
    author = author if allowed.get("replied_user") else set()
    return Pings(frozenset(users | author), frozenset(roles), everyone and "everyone" in parse)


def shown_text(body: Json) -> str:
    """All text of a message's body in which mentions work: its content and its text displays."""
    return "\n".join([body.get("content") or "", *_displays(body.get("components") or [])])


def check_allowed_mentions(allowed: Json | None) -> None:
    for kind in ("users", "roles"):
        if allowed and kind in (allowed.get("parse") or []) and allowed.get(kind):
            reason = f"parse:[{kind!r}] and {kind}: [ids...] are mutually exclusive."
            raise invalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", reason)


def _displays(components: list[Json]) -> list[str]:
    found: list[str] = []
    for component in components:
        if component.get("type") == 10:
            found.append(component.get("content", ""))
        found += _displays(component.get("components") or [])
    return found


def _ids(values: Any) -> set[int]:
    return {int(value) for value in values or []}
