"""Converts Discord messages and reactions to inbound messages for this bot."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import discord

from bot.adapters.discord.channels import PLATFORM, Place
from bot.adapters.discord.client import Json
from bot.adapters.shared.attachments import Unsupported, kind_of, unreadable
from handlers.ratings import thumb
from routing.types.messages import Attachment, ChatKey, InboundMessage, UserKey

MAX_QUOTE_CHARACTERS = 1000  # maximum length of the quoted message
REF = "discord:"
UNREADABLE = "replies that don't mention me"
"""Messages that reach a bot without the message content intent, but without their text."""
_PLAIN, _REPLY = 0, 19  # types of messages that people write; others report joins, pins etc.
_MENTION = re.compile(r"<(@!?|@&|#)(\d{1,20})>")
_EMOJI = re.compile(r"<a?:(\w{2,32}):\d{1,20}>")
_AROUND_MENTION = " \t\n,:"

Name = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's account. `content`: it may read messages that do not mention it."""

    id: int
    name: str
    content: bool = True


Read = Callable[[Json, Place, BotIdentity], InboundMessage | None]


def is_from_person(payload: Json) -> bool:
    """Whether a person wrote it, not a webhook or a bot."""
    author = payload.get("author") or {}
    return (
        payload.get("type") in (_PLAIN, _REPLY)
        and not author.get("bot")
        and not author.get("system")
        and not payload.get("webhook_id")
    )


def addresses(payload: Json, me: BotIdentity, own_role: int | None = None) -> bool:
    """Whether it mentions the bot or replies to it, wherever it was written."""
    return _mentions(payload, me, own_role) or _author_of_replied(payload) == me.id


def read(payload: Json, place: Place, me: BotIdentity) -> InboundMessage | None:
    """The message; None if it is not for this bot."""
    role = place.guild.self_role if place.guild is not None else None
    own_role = role.id if role is not None else None
    if not is_from_person(payload) or not _is_for_bot(payload, place, me, own_role):
        return None
    mentioned = _mentions(payload, me, own_role)
    text = without_mention(_text(payload), _own_mentions(me.id, own_role))
    attachments = (*files(payload), *_replied_files(payload))
    message = _message(payload, place, me)
    found = None if attachments else unsupported(payload)
    if found is not None and not (text and found.noun in ("stickers", "polls")):
        return replace(message, text=found.noun, extension=found.extension, kind="unsupported")
    if not (text or attachments or mentioned):
        hidden = not me.content and not place.private and _author_of_replied(payload) == me.id
        return replace(message, text=UNREADABLE, kind="unsupported") if hidden else None
    return replace(
        message,
        text=_spoken(text, payload, place, me),
        attachments=attachments,
        quoted=_quoted(payload, place, me),
        quoted_from=_author_name(_replied(payload) or {}),
        quoted_id=str((_replied(payload) or {}).get("id") or ""),
        forwarded_from="" if _is_forwarded(payload) else None,
    )


def read_edit(payload: Json, place: Place, me: BotIdentity) -> InboundMessage | None:
    """Like `read`, for edits. Link previews, pins and ended polls arrive as edits without a time and are ignored."""
    at = payload.get("edited_timestamp")
    message = read(payload, place, me) if at else None
    if message is None or message.kind != "message":
        return None
    update_id = f"{message.update_id}:{at}"[:64]
    return replace(message, kind="edited", update_id=update_id, sent_at=_seconds(str(at)))


def is_rating(payload: Json, me: BotIdentity) -> bool:
    """Whether a reaction may be a thumb on the bot's message. Removals do not say who wrote the message."""
    author = str(payload.get("message_author_id") or me.id)
    return bool(_thumb(payload)) and author == str(me.id) != str(payload["user_id"])


def read_reaction(payload: Json, place: Place, me: BotIdentity, now: float, removed: bool) -> InboundMessage:
    """Convert a reaction for which `is_rating` holds. The event has no id and arrives once, so it gets an id here;
    `now` is its date."""
    return InboundMessage(
        user=UserKey(PLATFORM, str(payload["user_id"])),
        chat=place.chat,
        bot_id=str(me.id),
        update_id=f"r:{secrets.token_hex(12)}",
        text=_thumb(payload),
        sent_at=now,
        kind="reaction",
        removed=removed,
        bot_name=me.name,
        private=place.private,
        message_id=str(payload["message_id"]),
    )


def files(payload: Json) -> tuple[Attachment, ...]:
    """Attachments that the bot can read, including those of a forwarded message."""
    found = (_attachment(part, one) for part in with_forwarded(payload) for one in part.get("attachments") or ())
    return tuple(file for file in found if file is not None)


def _replied_files(payload: Json) -> tuple[Attachment, ...]:
    """The files of the message replied to, which the text or the voice message is about. Voice messages are not heard
    again."""
    replied, own = _replied(payload), files(payload)
    spoken = bool(own) and all(file.kind == "voice" for file in own)
    found = files(replied) if replied and (spoken or not payload.get("attachments")) else ()
    return tuple(file for file in found if file.kind != "voice")


def unsupported(payload: Json) -> Unsupported | None:
    """The unsupported content of a message, if any."""
    parts = tuple(with_forwarded(payload))
    for part in parts:
        for one in part.get("attachments") or ():
            if _attachment(part, one) is None:
                video = _mime(one).startswith("video/")
                return Unsupported("videos") if video else unreadable(str(one.get("filename") or ""))
    if any(part.get("poll") for part in parts):
        return Unsupported("polls")
    return Unsupported("stickers") if any(part.get("sticker_items") for part in parts) else None


def with_forwarded(payload: Json) -> Iterable[Json]:
    """The message, then the messages it forwards, with the ids of the message."""
    yield payload
    for snapshot in payload.get("message_snapshots") or ():
        yield {**snapshot["message"], "id": payload["id"], "channel_id": payload["channel_id"]}


def without_mention(text: str, own: frozenset[str]) -> str:
    """The text without mentions of the bot (`own`) at its start and end."""
    text = text.strip()
    while (found := _MENTION.match(text)) is not None and found[0] in own:
        text = text[found.end() :].lstrip(_AROUND_MENTION)
    while (mention := next((each for each in own if text.endswith(each)), None)) is not None:
        text = text.removesuffix(mention).rstrip()
    return text


def with_names(text: str, users: Mapping[int, str], role: Name, channel: Name) -> str:
    """The text with names in place of ids; ids without a known name stay."""

    def named(found: re.Match[str]) -> str:
        sign, number = found[1], int(found[2])
        name = channel(number) if sign == "#" else role(number) if sign == "@&" else users.get(number, "")
        return f"{'#' if sign == '#' else '@'}{name}" if name else found[0]

    return _EMOJI.sub(r":\1:", _MENTION.sub(named, text))


def _attachment(part: Json, one: Json) -> Attachment | None:
    """An attachment. Its reference says where to get a new URL, because Discord's URLs expire after a day."""
    name, mime = str(one.get("filename") or "file"), _mime(one)
    kind = kind_of(name, mime)
    if kind is None:
        return None
    ref = f"{REF}{part['channel_id']}/{part['id']}/{one['id']} {one['url']}"
    return Attachment(kind, name, mime if kind != "text" else "text/plain", int(one.get("size") or 0), ref)


def _mime(one: Json) -> str:
    return str(one.get("content_type") or "").partition(";")[0].strip().lower()


def _thumb(payload: Json) -> str:
    """The thumb of a reaction. Custom emoji have an id and can have any name, so they do not count."""
    emoji = payload.get("emoji") or {}
    return "" if emoji.get("id") else thumb(str(emoji.get("name") or ""))


def _own_mentions(user_id: int, role_id: int | None) -> frozenset[str]:
    """Mentions of the bot. People often pick its role, which was created by the invitation and has the bot's name."""
    return frozenset({f"<@{user_id}>", f"<@!{user_id}>", *([f"<@&{role_id}>"] if role_id else [])})


def _is_for_bot(payload: Json, place: Place, me: BotIdentity, own_role: int | None) -> bool:
    """Whether the bot should read a message. In a thread it has joined, it reads all that is not addressed to
    others."""
    if place.private or addresses(payload, me, own_role):
        return True
    return place.joined and not payload.get("mentions") and _author_of_replied(payload) is None


def _mentions(payload: Json, me: BotIdentity, own_role: int | None) -> bool:
    users = {int(user["id"]) for user in payload.get("mentions") or ()}
    roles = {int(role) for role in payload.get("mention_roles") or ()}
    by_name = me.id in users and _author_of_replied(payload) != me.id
    return by_name or own_role in roles or any(each in _text(payload) for each in _own_mentions(me.id, None))


def _author_of_replied(payload: Json) -> int | None:
    replied = _replied(payload)
    return int(replied["author"]["id"]) if replied else None


def _replied(payload: Json) -> Json | None:
    """The message replied to; None if there is none or it was deleted."""
    replied: Json | None = payload.get("referenced_message") if payload.get("type") == _REPLY else None
    return replied


def _is_forwarded(payload: Json) -> bool:
    """Whether the text was forwarded; Discord does not say who wrote it."""
    return bool(payload.get("message_snapshots")) and not str(payload.get("content") or "").strip()


def _message(payload: Json, place: Place, me: BotIdentity) -> InboundMessage:
    return InboundMessage(
        user=UserKey(PLATFORM, str(payload["author"]["id"])),
        chat=_chat(payload, place, me),
        bot_id=str(me.id),
        update_id=str(payload["id"]),
        text="",
        sent_at=_seconds(payload["timestamp"]),
        user_name=_author_name(payload),
        username=str(payload["author"].get("username") or ""),
        bot_name=me.name,
        private=place.private,
        language="" if place.guild is None else place.guild.preferred_locale.value.partition("-")[0],
        message_id=str(payload["id"]),
    )


def _author_name(payload: Json) -> str:
    author, member = payload.get("author") or {}, payload.get("member") or {}
    return str(member.get("nick") or author.get("global_name") or author.get("username") or "")


def _chat(payload: Json, place: Place, me: BotIdentity) -> ChatKey:
    """The chat for the answer. A message for which the bot opened a thread is answered there."""
    thread = payload.get("thread")
    if thread and not place.chat.thread_id and str(thread.get("owner_id")) == str(me.id):
        return replace(place.chat, thread_id=str(thread["id"]))
    return place.chat


def _text(payload: Json) -> str:
    """The text of a message; if it is empty, the text of the message it forwards."""
    return next((text for part in with_forwarded(payload) if (text := str(part.get("content") or "").strip())), "")


def _quoted(payload: Json, place: Place, me: BotIdentity) -> str:
    replied = _replied(payload)
    return _spoken(_text(replied), replied, place, me)[:MAX_QUOTE_CHARACTERS] if replied else ""


def _spoken(text: str, payload: Json, place: Place, me: BotIdentity) -> str:
    """A text in this payload with names in place of ids."""
    users = {
        int(user["id"]): (user.get("member") or {}).get("nick") or user.get("global_name") or user.get("username") or ""
        for user in payload.get("mentions") or ()
    }
    role, channel = _names(place.guild)
    return with_names(text, users | {me.id: me.name}, role, channel)


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
