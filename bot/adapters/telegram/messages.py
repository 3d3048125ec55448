"""Converts Telegram updates to inbound messages: messages, button presses and ratings for this bot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from telegram import (
    Audio,
    CallbackQuery,
    Document,
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    MessageReactionUpdated,
    PhotoSize,
    ReactionType,
    ReactionTypeEmoji,
    Update,
    Voice,
)

from bot.adapters.shared.attachments import FILES, Unsupported, kind_of, unreadable
from handlers.ratings import thumb
from routing.types.messages import (
    Attachment,
    AttachmentKind,
    ChatKey,
    InboundKind,
    InboundMessage,
    Press,
    UserKey,
)

PLATFORM = "telegram"
REF = "telegram:"
MAX_QUOTE_CHARACTERS = 1000  # maximum length of the quoted message
GENERAL_TOPIC = 1
_COMMAND = re.compile(r"/[A-Za-z0-9_]{1,64}(?:@(\w+))?(?=\s|$)")
_MENTION_END = " \t\n,:"
_LARGEST_SIDE = 2560  # pixels; the largest photo size Telegram makes, and models scale down further
_NOUNS = {
    "sticker": "stickers",
    "animation": "animations",
    "video": "videos",
    "video_note": "video messages",
    "poll": "polls",
    "venue": "places",
    "location": "locations",
    "contact": "contacts",
    "dice": "dice",
    "game": "games",
    "story": "stories",
    "paid_media": "paid media",
    "invoice": "invoices",
    "checklist": "checklists",
    "giveaway": "giveaways",
    "passport_data": "passport data",
    "document": FILES,
}


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's own account; `username` without @."""

    id: int
    username: str


def moved(update: Update) -> tuple[ChatKey, str] | None:
    """The old chat and the new chat id, if the update says that a group became a supergroup."""
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id:
        return ChatKey(PLATFORM, str(message.chat.id)), str(message.migrate_to_chat_id)
    if message.migrate_from_chat_id:
        return ChatKey(PLATFORM, str(message.migrate_from_chat_id)), str(message.chat.id)
    return None


def read(update: Update, me: BotIdentity, now: float) -> InboundMessage | None:
    """The message in an update; None if it is not for this bot. `now` is the date of button presses, which have
    none."""
    if update.message_reaction is not None:
        return _reaction(update.message_reaction, update.update_id, me)
    if update.callback_query is not None:
        return _press(update.callback_query, update.update_id, me, now)
    if update.message is not None:
        return _message(update.message, update.update_id, me, "message")
    if update.edited_message is not None:
        return _message(update.edited_message, update.update_id, me, "edited")
    return None


def chat_key(message: Message) -> ChatKey:
    """The conversation. Outside forums message_thread_id is only a chain of replies; the General topic has no key."""
    thread = message.message_thread_id if message.is_topic_message else None
    return ChatKey(PLATFORM, str(message.chat.id), str(thread) if thread and thread != GENERAL_TOPIC else "")


def attachment(message: Message) -> Attachment | None:
    """The attachment of a message if the bot can read it."""
    if message.photo:
        return _photo(message.photo)
    if message.voice is not None:
        return _file("voice", "voice.ogg", "audio/ogg", message.voice)
    if message.audio is not None:
        return _file("voice", message.audio.file_name or "audio.mp3", "audio/mpeg", message.audio)
    if message.document is not None and message.animation is None:
        return _document(message.document)
    return None


def unsupported(message: Message) -> Unsupported | None:
    """The unsupported content of a message; None for service messages."""
    for name, noun in _NOUNS.items():
        if getattr(message, name, None):
            document = message.document if name == "document" else None
            return unreadable(document.file_name or "") if document is not None else Unsupported(noun)
    return None


def _message(message: Message, update_id: int, me: BotIdentity, kind: InboundKind) -> InboundMessage | None:
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
    refused = unsupported(message) if file is None else None
    if refused is not None:
        if kind == "edited":  # a live location reports every move as an edit
            return None
        kind, text = "unsupported", refused.noun
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
        attachments=_attachments(file, replied),
        quoted=_quote(message, replied),
        quoted_from=_author_name(replied) if replied is not None else "",
        quoted_id=str(replied.message_id) if replied is not None else "",
        forwarded_from=forwarded_from,
        by_chat=message.sender_chat is not None,
        username=(message.from_user.username or "") if message.from_user and not message.sender_chat else "",
        extension=refused.extension if refused is not None else "",
    )


def _press(query: CallbackQuery, update_id: int, me: BotIdentity, now: float) -> InboundMessage | None:
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
    """Id, name and language of the author; None for other bots. Anonymous administrators and channels write as a
    chat."""
    if message.is_automatic_forward:
        return None
    if message.sender_chat is not None:
        return str(message.sender_chat.id), message.sender_chat.effective_name or "", ""
    user = message.from_user
    if user is None or user.is_bot:
        return None
    return str(user.id), user.full_name, user.language_code or ""


def _forwarded_from(message: Message) -> str | None:
    """The author of forwarded or inline-bot text; None for the sender's own text."""
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


def _author_name(message: Message) -> str:
    """The name of a message's author."""
    forwarded_from = _forwarded_from(message)
    if forwarded_from is not None:
        return forwarded_from
    if message.sender_chat is not None:
        return message.sender_chat.effective_name or ""
    return message.from_user.full_name if message.from_user is not None else ""


def _replied(message: Message) -> Message | None:
    """The message replied to. In a topic every message formally replies to the one that created it."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _attachments(file: Attachment | None, replied: Message | None) -> tuple[Attachment, ...]:
    """The message's own file. A text or a voice message may be about the file that it replies to."""
    own = (file,) if file is not None else ()
    return own if file is not None and file.kind != "voice" else (*own, *_replied_files(replied))


def _replied_files(replied: Message | None) -> tuple[Attachment, ...]:
    """The file of the message replied to, which the text is about. Voice messages are not heard again."""
    file = attachment(replied) if replied is not None else None
    return (file,) if file is not None and file.kind != "voice" else ()


def _quote(message: Message, replied: Message | None) -> str:
    if message.quote is not None:
        return message.quote.text[:MAX_QUOTE_CHARACTERS]
    return "" if replied is None else (replied.text or replied.caption or "")[:MAX_QUOTE_CHARACTERS]


def _without_mention(message: Message, me: BotIdentity) -> tuple[bool, str]:
    """Whether the bot is mentioned, and the text without mentions at its start and end."""
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


def _mention(entity: MessageEntity, units: bytes, me: BotIdentity) -> tuple[int, int] | None:
    """The range of bytes in `units` that mentions this bot; None for other entities."""
    start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
    if entity.type == entity.TEXT_MENTION:
        return (start, end) if entity.user is not None and entity.user.id == me.id else None
    if entity.type == entity.MENTION and _text(units[start:end]).lower() == f"@{me.username}".lower():
        return start, end
    return None


def _reaction(update: MessageReactionUpdated, update_id: int, me: BotIdentity) -> InboundMessage | None:
    """A thumb that was added or removed; None for other reactions. Telegram reports reactions to all messages in a chat
    without their topic."""
    emoji, removed = _change(_thumbs(update.old_reaction), _thumbs(update.new_reaction))
    user, chat = update.user, update.chat
    if not emoji or user is None or user.is_bot:
        return None
    return InboundMessage(
        user=UserKey(PLATFORM, str(user.id)),
        chat=ChatKey(PLATFORM, str(chat.id)),
        bot_id=str(me.id),
        update_id=str(update_id),
        text=emoji,
        sent_at=update.date.timestamp(),
        kind="reaction",
        removed=removed,
        user_name=user.full_name,
        bot_name=me.username,
        private=chat.type == chat.PRIVATE,
        language=user.language_code or "",
        message_id=str(update.message_id),
    )


def _change(old: Sequence[str], new: Sequence[str]) -> tuple[str, bool]:
    """The newest thumb, else one that remains after another was removed, else the removed one; empty if no thumb
    changed. And whether it was removed."""
    fresh = [each for each in new if each not in old]
    gone = [each for each in old if each not in new]
    if fresh or (gone and new):
        return (fresh or new)[-1], False
    return (gone[-1], True) if gone else ("", False)


def _thumbs(reactions: Sequence[ReactionType]) -> list[str]:
    found = (thumb(each.emoji) for each in reactions if isinstance(each, ReactionTypeEmoji))
    return [each for each in found if each]


def _photo(sizes: tuple[PhotoSize, ...]) -> Attachment:
    fitting = [size for size in sizes if max(size.width, size.height) <= _LARGEST_SIDE] or [sizes[0]]
    best = max(fitting, key=lambda size: size.width * size.height)
    return Attachment("image", "photo.jpg", "image/jpeg", best.file_size or 0, REF + best.file_id)


def _document(document: Document) -> Attachment | None:
    mime = (document.mime_type or "").partition(";")[0].strip().lower()
    name = document.file_name or "file"
    match kind_of(name, mime):
        case "image":
            return _file("image", name, mime, document)
        case "text":
            return _file("text", name, "text/plain", document)
        case "document":
            return _file("document", name, mime, document)
    return None


def _file(kind: AttachmentKind, name: str, mime: str, file: Document | Voice | Audio) -> Attachment:
    return Attachment(kind, name, file.mime_type or mime, file.file_size or 0, REF + file.file_id)
