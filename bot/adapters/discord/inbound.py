"""Discord's messages as inbound messages: who is addressed, and what was said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import discord

from bot.adapters.discord.content import Json, files, unsupported, wholes
from bot.adapters.discord.mentions import Name, own_mentions, spoken, without
from bot.adapters.discord.places import PLATFORM, Place
from routing.types import ChatKey, InboundMessage, UserKey

MAX_QUOTE = 1000  # characters of the message replied to
UNREADABLE = "replies that don't mention me"
"""What a bot without the message-content intent is shown without its text."""
_SAID, _REPLY = 0, 19  # types of messages that people write; the others tell of joins, pins and the like


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's own account; `content` says whether it may read what does not mention it."""

    id: int
    name: str
    content: bool = True


Read = Callable[[Json, Place, Me], InboundMessage | None]


def said(payload: Json) -> bool:
    """Whether a person wrote it. Webhooks and bots are not heard, the bot itself least of all."""
    author = payload.get("author") or {}
    return (
        payload.get("type") in (_SAID, _REPLY)
        and not author.get("bot")
        and not author.get("system")
        and not payload.get("webhook_id")
    )


def calls(payload: Json, me: Me, own_role: int | None = None) -> bool:
    """Whether it mentions the bot or replies to it, wherever it was written."""
    return _mentions(payload, me, own_role) or _author_of_replied(payload) == me.id


def read(payload: Json, place: Place, me: Me) -> InboundMessage | None:
    """The message, or None when it is nothing for this bot."""
    role = place.guild.self_role if place.guild is not None else None
    own_role = role.id if role is not None else None
    if not said(payload) or not _addressed(payload, place, me, own_role):
        return None
    mentioned = _mentions(payload, me, own_role)
    text = without(_text(payload), own_mentions(me.id, own_role))
    attachments = files(payload)
    message = _message(payload, place, me)
    noun = "" if attachments else unsupported(payload)
    if noun and not (text and noun in ("stickers", "polls")):
        return replace(message, text=noun, kind="unsupported")
    if not (text or attachments or mentioned):
        hidden = not me.content and not place.private and _author_of_replied(payload) == me.id
        return replace(message, text=UNREADABLE, kind="unsupported") if hidden else None
    return replace(
        message,
        text=spoken(text, _users(payload, me), *_names(place.guild)),
        attachments=attachments,
        quoted=_quoted(payload, place, me),
        quoted_from=_name(_replied(payload) or {}),
        forwarded_from="" if _is_forwarded(payload) else None,
    )


def edited(payload: Json, place: Place, me: Me) -> InboundMessage | None:
    """The same for an edit. A preview of a link, a pin and the end of a poll come as edits, too, and change nothing."""
    at = payload.get("edited_timestamp")
    message = read(payload, place, me) if at else None
    if message is None or message.kind != "message":
        return None
    update_id = f"{message.update_id}:{at}"[:64]
    return replace(message, kind="edited", update_id=update_id, sent_at=_seconds(str(at)))


def _addressed(payload: Json, place: Place, me: Me, own_role: int | None) -> bool:
    """In a thread that it takes part in, the bot hears everything that is not said to somebody else."""
    if place.private or calls(payload, me, own_role):
        return True
    return place.joined and not payload.get("mentions") and _author_of_replied(payload) is None


def _mentions(payload: Json, me: Me, own_role: int | None) -> bool:
    users = {int(user["id"]) for user in payload.get("mentions") or ()}
    roles = {int(role) for role in payload.get("mention_roles") or ()}
    by_name = me.id in users and _author_of_replied(payload) != me.id
    return by_name or own_role in roles or any(mark in _text(payload) for mark in own_mentions(me.id, None))


def _author_of_replied(payload: Json) -> int | None:
    replied = _replied(payload)
    return int(replied["author"]["id"]) if replied else None


def _replied(payload: Json) -> Json | None:
    """The message replied to; None when there is none, or it is gone."""
    replied: Json | None = payload.get("referenced_message") if payload.get("type") == _REPLY else None
    return replied


def _is_forwarded(payload: Json) -> bool:
    """Whether the text is that of a forwarded message. Discord does not say who wrote it."""
    return bool(payload.get("message_snapshots")) and not str(payload.get("content") or "").strip()


def _message(payload: Json, place: Place, me: Me) -> InboundMessage:
    return InboundMessage(
        user=UserKey(PLATFORM, str(payload["author"]["id"])),
        chat=_chat(payload, place, me),
        bot_id=str(me.id),
        update_id=str(payload["id"]),
        text="",
        sent_at=_seconds(payload["timestamp"]),
        user_name=_name(payload),
        username=str(payload["author"].get("username") or ""),
        bot_name=me.name,
        private=place.private,
        language="" if place.guild is None else place.guild.preferred_locale.value.partition("-")[0],
        message_id=str(payload["id"]),
    )


def _name(payload: Json) -> str:
    """The name of the author of a message."""
    author, member = payload.get("author") or {}, payload.get("member") or {}
    return str(member.get("nick") or author.get("global_name") or author.get("username") or "")


def _chat(payload: Json, place: Place, me: Me) -> ChatKey:
    """A thread that the bot made for a message is where that message is answered."""
    thread = payload.get("thread")
    if thread and not place.chat.thread_id and str(thread.get("owner_id")) == str(me.id):
        return replace(place.chat, thread_id=str(thread["id"]))
    return place.chat


def _text(payload: Json) -> str:
    """What was written, or what a message without words of its own forwards."""
    return next((text for whole in wholes(payload) if (text := str(whole.get("content") or "").strip())), "")


def _quoted(payload: Json, place: Place, me: Me) -> str:
    replied = _replied(payload)
    if not replied:
        return ""
    return spoken(_text(replied), _users(replied, me), *_names(place.guild))[:MAX_QUOTE]


def _users(payload: Json, me: Me) -> dict[int, str]:
    named = {
        int(user["id"]): (user.get("member") or {}).get("nick") or user.get("global_name") or user.get("username") or ""
        for user in payload.get("mentions") or ()
    }
    return named | {me.id: me.name}


def _names(guild: discord.Guild | None) -> tuple[Name, Name]:
    def role(number: int) -> str:
        found = guild.get_role(number) if guild is not None else None
        return found.name if found is not None else ""

    def channel(number: int) -> str:
        found = guild.get_channel_or_thread(number) if guild is not None else None
        return found.name if found is not None else ""

    return role, channel


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
