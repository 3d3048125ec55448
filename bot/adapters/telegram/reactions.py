"""Telegram's reactions to messages: of all that people can say so, a thumb is meant for the bot."""

from __future__ import annotations

from collections.abc import Sequence

from telegram import MessageReactionUpdated, ReactionType, ReactionTypeEmoji

from bot.adapters.telegram.inbound import PLATFORM, Me
from handlers.ratings import TAKEN_BACK, thumb
from routing.types.messages import ChatKey, InboundMessage, UserKey


def read(update: MessageReactionUpdated, update_id: int, me: Me) -> InboundMessage | None:
    """The thumb that somebody put to a message or took away, None for anything else. Telegram tells of all messages in
    a chat, and not in which topic."""
    said = _said(_thumbs(update.old_reaction), _thumbs(update.new_reaction))
    user, chat = update.user, update.chat
    if not said or user is None or user.is_bot:
        return None
    return InboundMessage(
        user=UserKey(PLATFORM, str(user.id)),
        chat=ChatKey(PLATFORM, str(chat.id)),
        bot_id=str(me.id),
        update_id=str(update_id),
        text=said,
        sent_at=update.date.timestamp(),
        kind="reaction",
        user_name=user.full_name,
        bot_name=me.username,
        private=chat.type == chat.PRIVATE,
        language=user.language_code or "",
        message_id=str(update.message_id),
    )


def _said(old: Sequence[str], new: Sequence[str]) -> str:
    """The newest thumb; one that still stands beside another that went; one that went."""
    fresh = [each for each in new if each not in old]
    gone = [each for each in old if each not in new]
    if fresh or (gone and new):
        return (fresh or new)[-1]
    return f"{TAKEN_BACK}{gone[-1]}" if gone else ""


def _thumbs(reactions: Sequence[ReactionType]) -> list[str]:
    found = (thumb(each.emoji) for each in reactions if isinstance(each, ReactionTypeEmoji))
    return [each for each in found if each]
