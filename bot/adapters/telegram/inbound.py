"""Telegram's updates as inbound messages: who is addressed, what was said, what was pressed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from telegram import (
    CallbackQuery,
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    Update,
)

from bot.adapters.telegram.content import attachment, unsupported
from routing.types.messages import ChatKey, InboundKind, InboundMessage, Press, UserKey

PLATFORM = "telegram"
MAX_QUOTE = 1000  # characters of the message replied to
GENERAL_TOPIC = 1
_COMMAND = re.compile(r"/[A-Za-z0-9_]{1,64}(?:@(\w+))?(?=\s|$)")
_MENTION_END = " \t\n,:"


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's own account; `username` without @."""

    id: int
    username: str


def moved(update: Update) -> tuple[ChatKey, str] | None:
    """The old chat and the new chat id, when this update says that a group became a supergroup."""
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id:
        return ChatKey(PLATFORM, str(message.chat.id)), str(message.migrate_to_chat_id)
    if message.migrate_from_chat_id:
        return ChatKey(PLATFORM, str(message.migrate_from_chat_id)), str(message.chat.id)
    return None


def read(update: Update, me: Me, now: float) -> InboundMessage | None:
    """The message in an update, or None when it is nothing for this bot. `now` dates presses, which have no date."""
    if update.callback_query is not None:
        return _press(update.callback_query, update.update_id, me, now)
    if update.message is not None:
        return _message(update.message, update.update_id, me, "message")
    if update.edited_message is not None:
        return _message(update.edited_message, update.update_id, me, "edited")
    return None


def chat_key(message: Message) -> ChatKey:
    """The conversation. In plain supergroups message_thread_id only marks a chain of replies; General has no id."""
    thread = message.message_thread_id if message.is_topic_message else None
    return ChatKey(PLATFORM, str(message.chat.id), str(thread) if thread and thread != GENERAL_TOPIC else "")


def _message(message: Message, update_id: int, me: Me, kind: InboundKind) -> InboundMessage | None:
    author = _author(message)
    if author is None or message.chat.type == message.chat.CHANNEL:
        return None
    replied = _replied(message)
    mentioned, text = _without_mention(message, me)
    forwarded_from = _forwarded_from(message)
    command = _COMMAND.match(text) if forwarded_from is None else None
    if command and command[1] and command[1].lower() != me.username.lower():
        return None
    private = message.chat.type == message.chat.PRIVATE
    to_me = replied is not None and replied.from_user is not None and replied.from_user.id == me.id
    if not (private or mentioned or command or to_me):
        return None
    file = attachment(message)
    if file is None and (noun := unsupported(message)):
        if kind == "edited":  # a live location reports every step in this way
            return None
        kind, text = "unsupported", noun
    elif file is None and not text and not mentioned:
        return None
    user_id, name, language = author
    return InboundMessage(
        user=UserKey(PLATFORM, user_id),
        chat=chat_key(message),
        bot_id=str(me.id),
        update_id=str(update_id),
        text=text,
        sent_at=message.date.timestamp(),
        kind=kind,
        user_name=name,
        bot_name=me.username,
        private=private,
        language=language,
        message_id=str(message.message_id),
        album=message.media_group_id or "",
        attachments=(file,) if file is not None else (),
        quoted=_quote(message, replied),
        quoted_from=_wrote(replied) if replied is not None else "",
        forwarded_from=forwarded_from,
        by_chat=message.sender_chat is not None,
        username=(message.from_user.username or "") if message.from_user and not message.sender_chat else "",
    )


def _press(query: CallbackQuery, update_id: int, me: Me, now: float) -> InboundMessage | None:
    message = query.message
    if message is None or query.data is None:
        return None
    chat = chat_key(message) if isinstance(message, Message) else ChatKey(PLATFORM, str(message.chat.id))
    message_id = str(message.message_id)
    return InboundMessage(
        user=UserKey(PLATFORM, str(query.from_user.id)),
        chat=chat,
        bot_id=str(me.id),
        update_id=str(update_id),
        text=query.data,
        sent_at=now,
        kind="press",
        user_name=query.from_user.full_name,
        bot_name=me.username,
        private=message.chat.type == message.chat.PRIVATE,
        language=query.from_user.language_code or "",
        message_id=message_id,
        press=Press(query.id, message_id),
        by_chat=query.from_user.is_bot,  # Telegram's account for anonymous administrators
        username=query.from_user.username or "",
    )


def _author(message: Message) -> tuple[str, str, str] | None:
    """Id, name and language. An anonymous administrator or a channel speaks as a chat; other bots are not heard."""
    if message.is_automatic_forward:
        return None
    if message.sender_chat is not None:
        return str(message.sender_chat.id), message.sender_chat.effective_name or "", ""
    user = message.from_user
    if user is None or user.is_bot:
        return None
    return str(user.id), user.full_name, user.language_code or ""


def _forwarded_from(message: Message) -> str | None:
    """Who wrote a text that the sender forwarded or let an inline bot write; None for their own words."""
    match message.forward_origin:
        case MessageOriginUser(sender_user=user):
            return user.full_name
        case MessageOriginHiddenUser(sender_user_name=name):
            return name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return chat.effective_name or ""
        case None if message.via_bot is not None:
            return message.via_bot.full_name
        case None if "forward_date" not in message.api_kwargs:  # a Bot API server before 7.0 has no forward_origin
            return None
    return ""


def _wrote(message: Message) -> str:
    """The name of the author of a message."""
    forwarded_from = _forwarded_from(message)
    if forwarded_from is not None:
        return forwarded_from
    if message.sender_chat is not None:
        return message.sender_chat.effective_name or ""
    return message.from_user.full_name if message.from_user is not None else ""


def _replied(message: Message) -> Message | None:
    """The message replied to; in a topic everything formally answers the message that created it."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _quote(message: Message, replied: Message | None) -> str:
    if message.quote is not None:
        return message.quote.text[:MAX_QUOTE]
    return "" if replied is None else (replied.text or replied.caption or "")[:MAX_QUOTE]


def _without_mention(message: Message, me: Me) -> tuple[bool, str]:
    """Whether the bot is mentioned, and the text without the mention where that stands at its start or end."""
    text = message.text or message.caption or ""
    entities = message.entities or message.caption_entities
    if not entities:
        return False, text
    units = text.encode("utf-16-le", "surrogatepass")
    spans = [span for entity in entities if (span := _mention(entity, units, me)) is not None]
    for start, end in reversed(spans):
        before, after = _text(units[:start]), _text(units[end:])
        if not after.strip():
            units = before.rstrip().encode("utf-16-le", "surrogatepass")
        elif not before.strip():
            units = after.lstrip(_MENTION_END).encode("utf-16-le", "surrogatepass")
    return bool(spans), _text(units)


def _text(units: bytes) -> str:
    return units.decode("utf-16-le", "surrogatepass")


def _mention(entity: MessageEntity, units: bytes, me: Me) -> tuple[int, int] | None:
    """The bytes of `units` that name this bot, if the entity does."""
    start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
    if entity.type == entity.TEXT_MENTION:
        return (start, end) if entity.user is not None and entity.user.id == me.id else None
    if entity.type == entity.MENTION and _text(units[start:end]).lower() == f"@{me.username}".lower():
        return start, end
    return None
