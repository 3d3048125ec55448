"""What a failed Telegram call means for the reply it carried."""

from __future__ import annotations

from enum import Enum, auto

from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from bot.adapters.shared.outbound import NOT_SENT, not_sent, token_refused, unanswered
from bot.adapters.telegram.api import ServerError, TooMany
from bot.platform import SendFailed, SendLater, SendRefused


class Refusal(Enum):
    """Kinds of status 400 that need different handling. Only the error text tells them apart."""

    UNCHANGED = auto()
    NOT_EDITABLE = auto()
    ENTITIES = auto()
    THREAD = auto()
    OTHER = auto()


_TEXTS = (
    ("message is not modified", Refusal.UNCHANGED),
    ("message to edit not found", Refusal.NOT_EDITABLE),
    ("message can't be edited", Refusal.NOT_EDITABLE),
    ("there is no text in the message to edit", Refusal.NOT_EDITABLE),
    ("message_id_invalid", Refusal.NOT_EDITABLE),
    ("can't parse entities", Refusal.ENTITIES),
    ("can't parse messageentity", Refusal.ENTITIES),
    ("entity", Refusal.ENTITIES),
    ("entities", Refusal.ENTITIES),
    ("message thread not found", Refusal.THREAD),
    ("topic_deleted", Refusal.THREAD),
)


REASONS = {
    "bot was blocked by the user": "this person has blocked the bot",
    "user is deactivated": "this account was deleted",
    "chat not found": "the chat does not exist any more, or the bot was removed from it",
    "bot was kicked": "the bot was removed from that chat",
    "bot is not a member": "the bot was removed from that chat",
    "bot can't initiate conversation": "this person has not started a chat with the bot",
    "rights to send documents": "the bot may not send files in that chat",
    "rights to send photos": "the bot may not send files in that chat",
    "not enough rights": "the bot may not write in that chat",
    "have no rights": "the bot may not write in that chat",
    "need administrator rights": "the bot may not write in that chat",
}
"""Clauses for the owner, by what Telegram says."""


def _reason(message: str) -> str:
    """Why Telegram refuses a reply, for the owner."""
    return next((clause for part, clause in REASONS.items() if part in message.lower()), message)


def refusal(error: BadRequest) -> Refusal:
    """The kind of this refusal."""
    text = error.message.lower()
    return next((kind for part, kind in _TEXTS if part in text), Refusal.OTHER)


def may_have_arrived(error: TelegramError) -> bool:
    """Whether the call may have been carried out despite the error."""
    if isinstance(error, (TooMany, InvalidToken, Forbidden, BadRequest)):
        return False
    if isinstance(error, ServerError):
        return error.code == 504
    return not isinstance(error.__cause__, NOT_SENT)


def failure(error: TelegramError, editing: bool = False) -> SendFailed:
    """The error for the outbox. Repeating an edit is harmless."""
    if isinstance(error, TooMany):
        return SendLater("flood control", error.seconds)
    if isinstance(error, InvalidToken):
        return token_refused("Telegram")
    if isinstance(error, (Forbidden, BadRequest)):
        return SendRefused(_reason(error.message))
    reason = type(error.__cause__).__name__ if error.__cause__ else error.message
    if may_have_arrived(error):
        return unanswered("Telegram", reason, repeatable=editing)
    return SendLater(error.message) if isinstance(error, ServerError) else not_sent("Telegram", reason)
