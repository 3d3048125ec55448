"""Discord's reactions to messages: of all that people can say so, a thumb at a message of the bot is meant for it."""

from __future__ import annotations

import secrets

from bot.adapters.discord.content import Json
from bot.adapters.discord.inbound import Me
from bot.adapters.discord.places import PLATFORM, Place
from handlers.ratings import TAKEN_BACK, thumb
from routing.types import InboundMessage, UserKey


def meant(payload: Json, me: Me) -> bool:
    """Whether it may be a thumb at an answer. Whose message it was is not said when one is taken away."""
    author = str(payload.get("message_author_id") or me.id)
    return bool(_thumb(payload)) and author == str(me.id) != str(payload["user_id"])


def read(payload: Json, place: Place, me: Me, now: float, gone: bool) -> InboundMessage:
    """What is `meant`, put there or `gone`. The event has no id and comes once: it gets one here. `now` dates it."""
    return InboundMessage(
        user=UserKey(PLATFORM, str(payload["user_id"])),
        chat=place.chat,
        bot_id=str(me.id),
        update_id=f"r:{secrets.token_hex(12)}",
        text=f"{TAKEN_BACK if gone else ''}{_thumb(payload)}",
        sent_at=now,
        kind="reaction",
        bot_name=me.name,
        private=place.private,
        message_id=str(payload["message_id"]),
    )


def _thumb(payload: Json) -> str:
    """Emoji of a server have an id, and any name."""
    emoji = payload.get("emoji") or {}
    return "" if emoji.get("id") else thumb(str(emoji.get("name") or ""))
