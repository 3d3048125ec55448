"""What a Telegram message carries besides its text: files the bot reads, or the name of something it cannot."""

from __future__ import annotations

from telegram import Audio, Document, Message, PhotoSize, Voice

from bot.kinds import FILES, kind_of, unreadable
from routing.types.messages import Attachment, AttachmentKind

REF = "telegram:"
_LARGEST_SIDE = 2560  # pixels; the largest photo size that Telegram makes, models scale down further
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


def attachment(message: Message) -> Attachment | None:
    """The file in a message, if it is of a kind that the bot reads."""
    if message.photo:
        return _photo(message.photo)
    if message.voice is not None:
        return _made("voice", "voice.ogg", "audio/ogg", message.voice)
    if message.audio is not None:
        return _made("voice", message.audio.file_name or "audio.mp3", "audio/mpeg", message.audio)
    if message.document is not None and message.animation is None:
        return _document(message.document)
    return None


def unsupported(message: Message) -> str:
    """A short English noun in the plural for what a person sent and the bot cannot read; empty for service messages."""
    for name, noun in _NOUNS.items():
        if getattr(message, name, None):
            return unreadable(message.document.file_name or "") if name == "document" and message.document else noun
    return ""


def _photo(sizes: tuple[PhotoSize, ...]) -> Attachment:
    fitting = [size for size in sizes if max(size.width, size.height) <= _LARGEST_SIDE] or [sizes[0]]
    best = max(fitting, key=lambda size: size.width * size.height)
    return Attachment("image", "photo.jpg", "image/jpeg", best.file_size or 0, REF + best.file_id)


def _document(document: Document) -> Attachment | None:
    mime = (document.mime_type or "").partition(";")[0].strip().lower()
    name = document.file_name or "file"
    match kind_of(name, mime):
        case "image":
            return _made("image", name, mime, document)
        case "text":
            return _made("text", name, "text/plain", document)
    return None


def _made(kind: AttachmentKind, name: str, mime: str, file: Document | Voice | Audio) -> Attachment:
    return Attachment(kind, name, file.mime_type or mime, file.file_size or 0, REF + file.file_id)
